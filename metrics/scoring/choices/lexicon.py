"""The words by which replies are read: what they do, in English, and in Chinese and other languages.

Every word or phrase stands once. In a phrase, `a|b` stands for either word and `-` for no word; each Chinese character
is a word of its own. To add a language, add its words to the rows; nothing else knows any word. The rules (`claims`)
know the words of a row by its key. `L` is the letter of an option, `O` the text of one, and `w` any other word.
"""

from itertools import product

WORDS: dict[str, tuple[str, str, str]] = {
    "A": (
        "name the answer",
        "answer, answers, ans, conclusion, output, respuesta, antwort, resposta, ответ",
        "答案, 结论, 答え, 정답, 正解",
    ),
    "N": (
        "name an option",
        "option, choice, response, match, matches, solution, selection, statement, prediction",
        "选项, 選項, 项, 項, 故|则|即|应该|应|我|当 选 项, 说法, 叙述, 描述, 表述",
    ),
    "P": (
        "name several options",
        "options, choices",
        "",
    ),
    "F": (
        "say that an option is the answer",
        "final, correct, true, right, proper, appropriate, closest, nearest, likely, suitable, accurate, logical, "
        "similar, reasonable, plausible, probable, fitting, fit, fits, valid, optimal, remaining",
        "正确, 正確, 符合, 合适, 最接近, 最合适",
    ),
    "G": (
        "say so, or prefer one of two images",
        "better, best, superior, higher, highest",
        "更|最 好|佳|高|优, 优于, 好于, 高于, 更 清晰|清楚",
    ),
    "=": (
        "join a cue to its value",
        "is, are, it's, that's, was, were, be, is|was|be to be, this|that|which leaves, would|should|must|will be, "
        "would|should|must|will then|therefore be, becomes, remains, es, ist",
        "是, 为, 為, 应该|应|應該|應|应当|当 是|为|為, は, 은, 는",
    ),
    "d": (
        "may stand between a cue and its value",
        "then, probably, clearly, indeed, still, simply, actually, now, about, approximately, roughly, around, "
        "obviously, definitely, maybe, perhaps, possibly",
        "显然, 就, 应该, 也, 都, 均, 可能, 或许, 가, 이",
    ),
    "C": (
        "choose an option behind a subject",
        "choose, select, pick, go|going with|for, opt for, lean towards|toward, prefer",
        "",
    ),
    "K": (
        "choose an option",
        "",
        "选, 選, 选择, 選擇, 故|我|应该|应|應該|應|应当|当|故应 选|選|选择",
    ),
    "u": (
        "say who chooses",
        "we, i'd, we'd, i'll, we'll",
        "我, 我们",
    ),
    "t": (
        "are articles",
        "the, a, of",
        "",
    ),
    "!": (
        "deny what follows in the clause",
        "not, no, never, without, neither, nor, cannot, hardly, barely, scarcely, lack, lacks, lacking, free of|from, "
        "far from, absence of, opposite of, anything but, rather than, instead of, opposed to, rule|rules|ruled|"
        "ruling out, eliminate, eliminates, eliminated, eliminating, exclude, excludes, excluded, excluding",
        "nicht, kein, keine, pas, não, не, không phải",
    ),
    "x": (
        "deny what follows, and what directly precedes",
        "n't, isn't, aren't, wasn't, weren't, don't, doesn't, didn't, won't, wouldn't, shouldn't, can't, couldn't, "
        "hasn't, haven't, hadn't, mustn't, unlikely, less likely|suitable|appropriate|plausible|accurate|similar",
        "不 是, 并非, 不 选|選, 不 可能 是|为, 不 能 选|是|为, 不 应该 是|为|选, 不 应 是|为|选, 排除, 不 认|觉 为|"
        "得, değil, で は あ り ま せ ん, で は な い, 아 닙 니 다",
    ),
    "~": (
        "deny the next words",
        "more|less|fewer|greater than, at least|most",
        "不, 没, 沒, 未, 無, 无",
    ),
    "X": (
        "reject what precedes",
        "incorrect, wrong, false, inaccurate, invalid, impossible, can|is|are|was be|- ruled|eliminated|excluded out|"
        "-, is|are out, fails, implausible, irrelevant, unsupported, contradicts, a trap|distractor, a|- common|"
        "frequent|typical mistake|error|misconception|distractor, a mistake|misconception",
        "错误, 錯誤, 并|都|均|- 不 正确|正確|对|對|符合|合适|成立|准确|适合|行, 错, 錯, 有误, 有誤, 可以|被|应|应该 "
        "排除, 不 可能, 矛盾, 没有 依据, 无关, 过于 绝对, 偷换 概念, 无 中 生 有, 以 偏 概 全",
    ),
    "z": (
        "only look like words with a role",
        "not|n't only|just|merely, to|on|at the right, right of|side|hand|corner, second|third choice|guess",
        "不 仅|仅仅|只|只是|但",
    ),
    "0": (
        "say that no option is correct",
        "none of the|these|those|them, neither of, no correct|valid|such option|answer|choice|-",
        "以上|选项 都|皆|均 不|非, 没有 正确|合适",
    ),
    "R": (
        "say that the question cannot be answered",
        "unable to, impossible to, not possible to, not possible for me to, hard|difficult|tough|challenging to, hard|"
        "difficult for me to, i can't|cannot, i can not, cannot|can't be answered|determined, cannot|can't answer|"
        "determine|tell|choose|select|conclude|provide|say, cannot definitively|accurately|confidently|conclusively|"
        "reliably, error|mistake|issue|problem in|with the, please provide|check|clarify|upload, not sure, i don't "
        "know, need|without|lack|lacks|insufficient more|additional|further|any|specific|sufficient|enough|- "
        "information|data|details|context, n a, not provided",
        "无法|無法|不能|难以 确定|确認|判断|判斷|判定|回答|得出|看|看清|识别|选择|选出|选|给出|提供|分辨|直接|做出|"
        "作出|准确|准确地|帮|帮助|协助, 很难 说|判断|确定, 不 确定|知道|清楚, 不 好说, 看 不 清|出, 抱歉, 对不起, "
        "题目|题 有误|有誤",
    ),
    "b": (
        "say so after a negation",
        "among, listed, available, an option, enough, sufficient, provide, provided, match any|the|these, fit any|the|"
        "these, in any, in the|these options|choices|answers|given|provided",
        "在 选项, 给出",
    ),
    "B": (
        "begin a clause that may withdraw what precedes",
        "but, however, although, though, whereas, while, yet, upon",
        "但, 但是, 不过, 然而, 而是, 而",
    ),
    "r": (
        "begin an explanation",
        "because, since, explanation, reason, reasoning",
        "因为, 由于, 解析, 题目 解析, 解释, 分析, 理由, 原因",
    ),
    "c": (
        "withdraw what precedes",
        "wait, correction, correcting, corrected, my mistake|error, made a|an mistake|error, let me, let's, oops, "
        "hmm, sorry, apologies, apologize, on second thought, recheck, re check, reevaluate, re evaluate, "
        "recalculate, re calculate, reconsider, re consider, reexamine, re examine, rethink, reread, re read, "
        "revisit, reassess, reevaluating, rechecking, reconsidering, no wait, evaluating, actually it|the|i|no, not "
        "quite, no that|this|it is|was wrong|incorrect, hold on, scratch that, i was wrong, looking again, upon closer",
        "重新, 更正, 错了, 等等, 等一下, 再 看|想|检查|算, 其实 是, 发现 有误|错误",
    ),
    "i": (
        "begin a supposition or a question",
        "if, whether, unless, suppose, assume, assuming",
        "如果, 若, 假如, 是否, 假设",
    ),
    "h": (
        "make a supposition a choice",
        "i|we had|have|must|were to|choose|guess|-, forced, pressed",
        "必须",
    ),
    "o": (
        "end a modifier, in which a negation stays",
        "",
        "的",
    ),
    "q": (
        "begin a clause in which a negation stays",
        "why, who, which, what, how, where, that",
        "为什么",
    ),
    "S": (
        "begin a conclusion",
        "so, therefore, thus, hence, consequently, overall, accordingly, in conclusion|summary, to conclude, based "
        "on, given this|that|these|the",
        "所以, 因此, 综上, 综上所述, 故, 由此",
    ),
    "&": (
        "join two answers",
        "and, or, to, through, vs, versus",
        "和, 或, 到, 至, 与, 與, 及, 或者, 以及, 还是",
    ),
    "m": (
        "compare",
        "more, most",
        "更, 最",
    ),
    "n": (
        "name an image by the letter behind them",
        "image, picture, photo, panel, figure, fig, diagram, shape, graph, chart, letter, letters",
        "图, 图片",
    ),
    "y": (
        "name something else by the letter behind them",
        "plan, vitamin, grade, type, class, hepatitis, angle, triangle, vertex, line, segment, node, side, point, "
        "points, appendix, part, channel, number, group, team, exhibit, circle, grid, boat, box, object, sample, "
        "person, mr, player, city, country, car",
        "点",
    ),
    "s": (
        "are counted by the number behind them",
        "step, section, row, column, table, equation, case, page, chapter",
        "第, 步骤, 步, 题",
    ),
    "p": (
        "show that an A before them is a letter",
        "as, due, has, have, does, it, seems, appears, looks, shows, means, offers, exhibits, displays, provides, "
        "possesses, would, should, could, can, may, instead, with, for, based",
        "",
    ),
    "D": (
        "may stand around a comparison of two images",
        "much, far, slightly, significantly, noticeably, generally, to be|have, than, over, compared, one, visual, "
        "perceptual, perceived, technical, quality, in quality, in terms of",
        "质量, 画质, 视觉, 明显, 整体",
    ),
    "v": (
        "announce a number",
        "score, rating",
        "评分, 得分, 分数, 打分",
    ),
    "<": (
        "say the opposite of what follows in a compound",
        "non, un, anti, minus, negative",
        "负, 負",
    ),
    ">": (
        "say the opposite of what precedes in a compound",
        "free, less",
        "",
    ),
    "Q": (
        "begin another question at the start of a line",
        "question, questions, next question, example, instruction, problem, hint, task, passage, input, q, human, "
        "user, now let's|let summarize|combine|list|put|compile|review all the",
        "问题, 题目, 下 一 题, 用户",
    ),
    "M": (
        "scale the number before them",
        "hundred, thousand, million, billion, dozen, pi",
        "百, 千, 万, 亿",
    ),
}

COMMON = ("Yes", "No", "Both", "是", "否", "是的", "不是", "はい", "いいえ", "예", "아니요")
"""Options that are such common words that they are an answer only at the beginning of a reply or behind a cue."""

SYNONYMS = (("Yes", "True"), ("No", "False"))
"""Words that stand for one another where one of each pair is an option."""

CONTAINERS = (
    *("answer", "ans", "final_answer", "finalanswer", "correct_answer", "conclusion", "choice"),
    *("答案", "正确答案", "最终答案"),
)
"""Names of tags, JSON keys and template fields that hold an answer."""


def phrases() -> list[tuple[str, str]]:
    """All words and phrases of the table with the keys of their rows."""
    found = []
    for key, (_, *languages) in WORDS.items():
        for phrase in filter(None, map(str.strip, ",".join(languages).split(","))):
            alternatives = product(*(part.split("|") for part in phrase.split()))
            found += [(" ".join(word for word in words if word != "-"), key) for words in alternatives]
    return found
