"""Replies as models write them, and replies that mislead a careless parser, for exact matching.

Each row has the options, the letter that its replies name, or None, and the replies.
"""

LIGHT = ("Bright", "Dark", "Medium", "Dull")
BLUR = ("Sharp", "Blurry", "Very blurry")
GRADED = ("Some blur", "Not blurry at all", "Very blurry")
NO_YES = ("No", "Yes")
YES_NO = ("Yes", "No")
NOISE = ("Noise", "Motion blur", "Overexposure", "Out of focus")
QUALITY = ("Good", "Poor", "Fair")
LEVEL = ("High", "Medium", "Low")
TRAP = ("Low", "Dark", "Acceptable", "Dull")
REFUSAL = ("Clear", "Blurry", "I don't know")
CHINESE = ("清晰", "模糊", "非常模糊")
CHINESE_YES_NO = ("是", "否")
JAPANESE = ("鮮明", "ぼやけている")
KOREAN = ("선명함", "흐림")
COUNTS = ("2", "12", "3.5", "-5")
PLACES = ("the first image", "the second image", "both images")
SIGNS = ("x > y", "x < y", "x = y")
OBJECTS = ("teddy bear", "rabbit", "cat", "dog")
PHASES = ("Solid", "Liquid", "Gas", "Plasma")
ABOVE = ("Noise", "Blur", "Both A and B", "None of the above")
SENTENCES = ("There is no noise", "There is some noise", "There is a lot of noise")
DENIED = ("It's not blurry", "It's blurry", "Can't tell")
FORMULAS = ("f(x) = x^2", "f(x) = x^3", "x = 2", "y = 2")
NUMBERS = ("1", "2", "3", "4")
SHARES = ("50%", "5%", "0.5", "1/2")
TIMES = ("10:30", "10:45", "11:30")
DEGREES = ("0°C", "100°C", "-5°C", "50°C")
PEOPLE = ("Barack Obama", "George W. Bush", "Donald Trump", "Joe Biden")
COLOURS = ("Red", "Green", "Blue", "A mix of red and green")
SIDES = ("Left", "Right", "Center", "Top left")
NO_NOISE = ("Noise", "No noise")
SHARPNESS = ("Clear", "Blurry")
PLANS = ("Vitamin C", "Vitamin D", "Plan B")
B_AND_A = ("B", "A")
B_TO_D = ("B", "C", "A", "D")
JOBS = ("police officer", "athlete", "fireman", "athlete")
CASES = ("Aa", "aa", "AA")
BUT = ("Bright", "Sharp")
TWO_LIGHTS = ("Bright", "Dark")
OPERATORS = ("+", "-", "*")
ONE = ("Only one",)

ROWS: list[tuple[tuple[str, ...], str | None, list[str]]] = [
    # A letter alone, dressed in every way
    (LIGHT, "C", ["C", "C.", "(C)", "C)", "[C]", "{C}", "**C**", "*C*", "`C`", '"C"', "'C'.", "c", "(c)", "c."]),
    (LIGHT, "C", ["  C \n", "\uff23", "# C", "> C", "- C", "<b>C</b>", "C</s>", "C<|im_end|>"]),
    (LIGHT, "A", ["A", "a", "A.", "**A**"]),
    # A letter with a text
    (LIGHT, "C", ["C: Medium", "C. Medium", "C.Medium", "C) Medium", "(C) Medium.", "C - Medium", "C, medium"]),
    (LIGHT, "C", ["C\nMedium", "**C. Medium**", "**C**. The lighting is neither high nor low.", "c) medium"]),
    (LIGHT, "C", ["C Medium", "C. The light seems to come from the side", "C because the histogram is centred"]),
    (LIGHT, "A", ["A. Bright", "A: Bright", "A Bright"]),
    # A letter behind a cue
    (LIGHT, "C", ["Answer: C", "Answer:C", "ANSWER: C", "**Answer:** C", "answer: c", "Answer - C"]),
    (LIGHT, "C", ["The answer is C.", "The answer is c", "The correct answer is **C**.", "The correct option is C"]),
    (LIGHT, "C", ["The correct answer to this question would be C.", "The best choice is: C", "Option C"]),
    (LIGHT, "C", ["option c", "Option (C)", "Option C is correct.", "Choice C", "I choose C", "I'd go with C."]),
    (LIGHT, "C", ["I think it's C", "Based on the picture, C.", "C is the answer", '{"answer": "C"}']),
    (LIGHT, "A", ["Answer: A", "Final answer: A", "The answer is A.", "The answer is a.", "The answer is (A)"]),
    (LIGHT, "A", ["Option A", "I would choose A.", "I choose A because the light is strong.", "It's A."]),
    (LIGHT, "A", ["A is correct.", '{"answer": "A"}']),
    # Containers and reasoning
    (LIGHT, "C", ["<answer>C</answer>", "<answer> C. Medium </answer>"]),
    (LIGHT, "C", ["It is bright here and dark there. <answer>C</answer>", "<answer>C", "\\boxed{C}", "$\\boxed{C}$"]),
    (LIGHT, "C", ["The answer is \\boxed{\\text{C}}.", "\\boxed{\\textbf{Medium}}"]),
    (LIGHT, "C", ["Neither A nor B fits, so \\boxed{C}", "<|begin_of_box|>C<|end_of_box|>"]),
    (LIGHT, "C", ["<think>A or B? Dark, surely.</think>C", "<think>A or B?</think>\n\nThe answer is C."]),
    (LIGHT, "C", ["A or B? Hmm.</think>C", "<THINK>Dark</THINK> Medium"]),
    (LIGHT, None, ["<answer>B</answer> <answer>C</answer>", "<think>A</think>"]),
    # A text alone or in a sentence
    (LIGHT, "C", ["Medium", "medium.", "MEDIUM!", "**Medium**", '"Medium"', "The lighting is medium."]),
    (LIGHT, "C", ["The image has medium lighting overall"]),
    (LIGHT, "B", ["It looks rather _dark_ to me", "I'd say it's dark", "A dark image", "This is a dark image"]),
    (LIGHT, "B", ["THIS IS A DARK IMAGE", "Answer: A dark image"]),
    # No choice
    (LIGHT, None, ["", "   ", "...", "E", "The answer is E.", "C or D", "A or B", "A/B", "A & B", "A B", "AB"]),
    (LIGHT, None, ["A. Dark", "C: Bright", "The answer is A, dark", "Bright or dark, hard to tell"]),
    (LIGHT, None, ["The top is bright; the rest is dark.", "A. Bright B. Dark C. Medium D. Dull"]),
    (LIGHT, None, ["I cannot tell from this image.", "A nice photograph", "I see a cat."]),
    (LIGHT, None, ["The darkness is brightened", "Option E", "<answer>none of these</answer>"]),
    # Letters that are something else
    (LIGHT, None, ["Image B is on the left", "a C-shaped lamp", "It says U.S.A.", "about 20 C", "written in C++"]),
    (LIGHT, None, ["a grade of B+"]),
    # Negation
    (LIGHT, None, ["It is not dark", "It's not C", "The answer is not C.", "B is not correct", "Dark is wrong"]),
    (LIGHT, None, ["It isn't dark", "It is never dark", "without any dark areas"]),
    (LIGHT, "A", ["It isn\u2019t dark, it is bright", "Not dark but bright", "It is not dark because it is bright"]),
    (LIGHT, "B", ["It's not A, it's B", "It is dark, not bright."]),
    (TRAP, "B", ["The answer is dark."]),
    (TRAP, "D", ["The answer is dull.", "The answer is D"]),
    (TRAP, "C", ["is acceptable", "Acceptable"]),
    (TRAP, None, ["Darkness"]),
    (BLUR, "B", ["A blurry image", "A blurry image.", "It is a blurry image"]),
    (BLUR, "B", ["The image is blurry, not very blurry"]),
    (BLUR, "C", ["Very blurry", "The image is very blurry.", "The image is very blurry. I mean, it is blurry."]),
    (BLUR, "C", ["very, very blurry"]),
    (BLUR, None, ["It is not blurry", "It is non-blurry", "The image is blur-free", "It is not very blurry"]),
    (BLUR, None, ["unsharp", "The image is neither sharp nor blurry"]),
    (BLUR, "A", ["It is not blurry. It is sharp.", "sharp"]),
    (GRADED, "A", ["The image has some blur, but it is not very blurry.", "There is some blur"]),
    (GRADED, "B", ["It is not blurry at all", "Not blurry at all!", "B. Not blurry at all"]),
    (GRADED, None, ["It isn't blurry at all", "Some. Blur."]),
    (NO_YES, "B", ["Yes", "yes.", "Yes, the image is clear.", "**Yes**, it is", "B. Yes", "Option B: Yes"]),
    (NO_YES, "B", ["The answer is yes.", "The correct answer is yes, it is"]),
    (NO_YES, "A", ["NO", "No, it is not.", "No, there is no noise. Yes, I looked.", "A. No"]),
    (NO_YES, "A", ["A: No, the colours are dull", "The answer is: **No**", "Answer: no"]),
    (NO_YES, None, ["A. Yes", "B. No", "There is no noise", "I would say yes", "The picture has no blur"]),
    (NO_YES, None, ["Yes or no", "Yes and no.", "yes/no", "A. No, the boy is in the middle. B. Yes,", "Nothing"]),
    (NO_YES, None, ["Yesterday"]),
    (YES_NO, "A", ["Yes", "A yes", "<think>no</think>Yes", "Yes. No blur is seen"]),
    (YES_NO, "A", ["The answer that I give to it is yes, clearly."]),
    (YES_NO, "B", ["B"]),
    # A compound that says the opposite
    (NOISE, None, ["It is noise-free", "there is no noise", "noise and overexposure", "noisy"]),
    (NOISE, None, ["The motion. Blur is small"]),
    (NOISE, "C", ["This noise free image has overexposure", "There is no noise, only overexposure."]),
    (NOISE, "A", ["Noise. Free of anything else.", "The most severe distortion is Noise"]),
    (NOISE, "B", ["Motion blur", "The distortion is motion blur.", "motion-blur"]),
    (NOISE, "D", ["Out-of-focus", "The background is out of focus", "D. Out of focus"]),
    (NO_NOISE, "B", ["There is no noise", "No noise."]),
    (NO_NOISE, "A", ["There is noise"]),
    (QUALITY, "B", ["It is poor, not good", "It is poor and not good"]),
    (QUALITY, "A", ["good", "The quality is good"]),
    (QUALITY, None, ["not good, not poor", "goodness"]),
    (QUALITY, "C", ["fair enough"]),
    (LEVEL, None, ["It is between medium and low", "slow"]),
    (LEVEL, "C", ["low", "Low contrast", "C. low"]),
    (LEVEL, "A", ["The saturation level is high."]),
    (REFUSAL, "C", ["I don't know", "I don\u2019t know.", "I don't know if it is blurry", "C. I don't know"]),
    (REFUSAL, "A", ["Clear", "I do know: clear"]),
    (SHARPNESS, None, ["I don't know", "I don't know, it could be anything"]),
    (CHINESE, "B", ["\u9009B", "\u9009b", "答案是B\u3002", "答案\uff1aB", "正确答案是B选项", "B\u3001模糊"]),
    (CHINESE, "B", ["图像很模糊", "图像不清晰\uff0c很模糊"]),
    (CHINESE, "A", ["\u9009A", "答案是A\u3002", "这张图片是清晰的"]),
    (CHINESE, None, ["A\u3001模糊", "图像不清晰", "清晰还是模糊\uff1f", "选A 图像不清晰\uff0c很模糊", "没有答案"]),
    (CHINESE, "C", ["图像非常模糊\u3002"]),
    (CHINESE_YES_NO, "A", ["是", "答案\uff1a是 谢谢"]),
    (CHINESE_YES_NO, "B", ["否\u3002", "答案是否"]),
    (CHINESE_YES_NO, None, ["图像是模糊的", "不是"]),
    (JAPANESE, "B", ["ぼやけている", "答えはBです"]),
    (JAPANESE, "A", ["この画像は鮮明です", "答えはAです"]),
    (KOREAN, "B", ["흐림", "정답은 B입니다", "이미지는 흐림입니다"]),
    (COUNTS, "B", ["12", "There are 12 of them"]),
    (COUNTS, "A", ["2", "2."]),
    (COUNTS, None, ["122", "3", "5", "2 or 12"]),
    (COUNTS, "C", ["3.5", "about 3.5 metres"]),
    (COUNTS, "D", ["-5", "It is -5 degrees"]),
    (PLACES, "B", ["The second image", "The second image is sharper"]),
    (PLACES, None, ["the first image, compared to the second image", "Second image"]),
    (PLACES, "C", ["Both images are fine"]),
    (SIGNS, "A", ["x > y"]),
    (SIGNS, "B", ["x < y.", "B. x < y"]),
    (SIGNS, None, ["x y"]),
    (PLANS, "A", ["Vitamin C"]),
    (PLANS, "C", ["It is Plan B."]),
    (PLANS, "B", ["Vitamin D, of course"]),
    (B_AND_A, "B", ["B", "B. B"]),
    (B_AND_A, "A", ["Answer: A", "A. B", "the letter B"]),
    # MMBench's questions 459, 462 and 491; the authors' evaluation reads a letter as the letter.
    (B_TO_D, "D", ["D"]),
    (B_TO_D, "A", ["A"]),
    (B_TO_D, "B", ["(B)"]),
    (B_TO_D, "C", ["The answer is C.", "C. A"]),
    (JOBS, "D", ["D", "Option D, the athlete"]),
    (JOBS, "B", ["B. athlete"]),
    (JOBS, "A", ["A police officer"]),
    (JOBS, None, ["athlete or fireman"]),
    (CASES, None, ["aa"]),
    (CASES, "B", ["B"]),
    (CASES, "C", ["C. AA"]),
    # A third clause, behind the words that begin two others.
    (BUT, "B", ["The photo in question is dark but not bright but sharp.", "It is sharp but not bright"]),
    (TWO_LIGHTS, "B", ["The answer is a (very) dark picture."]),
    (OPERATORS, "A", ["+"]),
    (OPERATORS, "B", ["B", "-"]),
    (ONE, "A", ["Only one", "A"]),
    (ONE, None, ["B"]),
    # Rejections, comparisons, names, quotations, mathematics, other languages. First, the protocol's examples.
    (LIGHT, "C", ["C", "C.", "(C)", "C)", "**C**", "C: Medium", "Answer: C", "The answer is C."]),
    (LIGHT, "C", ["<answer>C</answer>", "\\boxed{C}", "Option C", "c", "选C", "答案是C\u3002"]),
    (LIGHT, "B", ["The answer is dark.", "<think>Bright? No.</think>Dark"]),
    (LIGHT, None, ["It is acceptable", "A: Dark", "I don't know", "I see that B' is a prime"]),
    # Reasoning written out
    (LIGHT, "B", ["Step 1: look at the histogram. Step 2: decide.\n\n**Final Answer:** B"]),
    (LIGHT, "B", ["### Final Answer\n\n**B. Dark**"]),
    (LIGHT, "B", ["The correct answer is:\n\nB. Dark\n\nThe image is not bright."]),
    (LIGHT, "B", ["<think>First B, maybe C.\n</think>\n\nB", "<think>A</think> B <think>C</think>"]),
    (LIGHT, "D", ["<think>A <think>or B</think> or C</think> D"]),
    (LIGHT, None, ["A. Bright: no\nB. Dark: yes\n\nAnswer: B"]),
    (LIGHT, None, ["Options: A. Bright B. Dark C. Medium D. Dull. The answer is B."]),
    (LIGHT, None, ["B\n\nExplanation: it is dark, with some bright areas."]),
    # LaTeX
    (LIGHT, "B", ["The final answer is $\\boxed{\\text{B}}$", "The final answer is $\\boxed{B. Dark}$"]),
    (LIGHT, "B", ["\\[ \\boxed{\\text{(B) Dark}} \\]", "\\boxed{\\textbf{(B)}}", "\\boxed{B} \\boxed{B}"]),
    (LIGHT, "B", ["Therefore, the answer is \\( B \\).", "Therefore, the answer is $B$.", "\\(\\text{B}\\)"]),
    (LIGHT, None, ["\\boxed{B} \\boxed{C}", "\\boxed{B} \\boxed{?}"]),
    # Lists, tables, code, quotations
    (LIGHT, "B", ["```\nB\n```", '```json\n{"answer": "B"}\n```', "{'answer': 'B'}", "B|Dark", "1. B", "\ufeffB"]),
    (LIGHT, "B", ["B\u200b", "The\u00a0answer\u00a0is\u00a0B", "\u2705 B", "[[B]]", "<s> B </s>"]),
    (LIGHT, "A", ["The correct answer is 'A'.", "The correct answer is \u2018A\u2019."]),
    (LIGHT, None, ["- [ ] A\n- [x] B\n- [ ] C"]),
    # Rejections
    (LIGHT, "B", ["Not A but B", "Not A; rather B.", "The answer is B, not A."]),
    (LIGHT, "B", ["(B) is the right answer, (A) is wrong", "A is wrong, C is wrong, so B"]),
    (LIGHT, "B", ["Options A and C are incorrect; the answer is B", "A, C or D aren't right. B is."]),
    (LIGHT, "B", ["The answer is B, A is wrong", "The answer is B, and A and C are wrong", "B rather than C"]),
    (LIGHT, "B", ["B instead of C", "It's not bright, it's not medium, it's dark."]),
    (LIGHT, "B", ["Neither bright nor medium; dark.", "Dark, definitely not bright or medium"]),
    (LIGHT, "B", ["The image lacks bright areas, so it is dark", "It is not only dark, it is very dark"]),
    (LIGHT, "C", ["The correct answer isn't B but C", "B isn't right; C is."]),
    (LIGHT, "D", ["A, B, and C are incorrect, so D."]),
    (LIGHT, None, ["A and B are right", "The image is free of dark areas", "Hardly dark", "far from dark"]),
    (LIGHT, None, ["the opposite of bright", "It is not only dark but also dull"]),
    # Both, neither, comparisons
    (LIGHT, None, ["Both A and B", "Between A and B", "A to B", "A through D", "A versus B", "B, C", "B.\nC."]),
    (LIGHT, None, ["B is the best. C is the worst.", "more dark than bright", "Bright, medium or dull"]),
    # A letter that is something else
    (LIGHT, "B", ["Image A is dark", "Group A is dark", "Figure D shows a dark scene", "A dark photograph"]),
    (LIGHT, "B", ["Answer: A cat sits in the dark", "I choose a dark image"]),
    (LIGHT, None, ["Answer: A photo", "USB-C", "R&B", "B/W photo", "It's 3 D", "Vitamin D", "A=B"]),
    # The letter A in a sentence
    (LIGHT, "A", ["A, because it is well lit", "A is the correct answer", "A fits best", "A it is", "A for sure"]),
    (LIGHT, "A", ["I'd say A", "So, A.", "The answer A", "answer=A"]),
    (LIGHT, None, ["A well-lit photo", "A photograph of a cat"]),
    # Other languages
    (LIGHT, "A", ["答案\uff1aA", "Resposta: A"]),
    (LIGHT, "B", ["不是A\uff0c而是B", "选项B\uff1aDark", "La respuesta es B.", "Die Antwort ist B.", "Ответ: B"]),
    (LIGHT, "B", ["정답: B"]),
    # No answer at all
    (LIGHT, None, ["As an AI language model, I cannot see images.", "I'm sorry, but I can't assist with that."]),
    (LIGHT, None, ["The image shows a dark room with a bright window.", "darkness", "Darker"]),
    (BLUR, "C", ["Very blurry"]),
    (BLUR, None, ["It is not blurry", "I would say it's more blurry than sharp", "It is anything but sharp"]),
    (BLUR, None, ["It cannot be called sharp", "It isn't sharp, nor blurry", "no longer sharp", "Sharp vs blurry"]),
    (BLUR, "B", ["A blurry image", "The image is blurry rather than sharp.", "blurry instead of sharp"]),
    (BLUR, "B", ["rather blurry"]),
    (YES_NO, None, ["A: No, B: Yes", "A: Yes, B: No", "Yes, B", "No. A", "No, the correct answer is A."]),
    (YES_NO, None, ["The answer is not yes", "Not really", "Nope", "Is it blurry? Yes.", "Based on the image, no."]),
    (YES_NO, "A", ["Yes (A)", "Yes, there is no noise", "Yes it's A"]),
    (YES_NO, "B", ["\\boxed{\\text{No}}"]),
    (NOISE, None, ["there is no noise", "hardly any noise", "There's a lack of noise", "It lacks noise"]),
    (NOISE, None, ["The absence of noise is striking", "not out of focus", "motion blurring"]),
    (NOISE, "C", ["There is no noise or motion blur. The issue is overexposure."]),
    (NOISE, "C", ["The image is free from motion blur; overexposure is there"]),
    (NOISE, "D", ["It doesn't have noise; it's out of focus."]),
    (QUALITY, "B", ["It is poor, not good", "poor-quality"]),
    (QUALITY, None, ["Good quality, fair colour"]),
    (LEVEL, None, ["It is between medium and low", "medium to high", "Medium-low", "A. High B. Medium C. Low"]),
    (REFUSAL, "C", ["I don't know"]),
    (REFUSAL, None, ["I'm not sure", "I don't know, but perhaps it is blurry"]),
    (REFUSAL, None, ["The image is clear, I don't know why"]),
    (OBJECTS, "A", ["a cute teddy bear", "A teddy bear"]),
    (OBJECTS, "C", ["A cat"]),
    (OBJECTS, None, ["cats", "Spider"]),
    (PHASES, "A", ["A solid", "The answer is A solid"]),
    (PHASES, "B", ["A liquid", "A liquid. The answer is B"]),
    (ABOVE, "C", ["Both A and B", "C. Both A and B"]),
    (ABOVE, "D", ["None of the above"]),
    (ABOVE, None, ["noise and blur"]),
    (ABOVE, "A", ["A"]),
    (SENTENCES, "A", ["There is no noise"]),
    (SENTENCES, "B", ["There is some noise."]),
    (SENTENCES, "C", ["there is a lot of noise here"]),
    (SENTENCES, None, ["There is not a lot of noise"]),
    (DENIED, "A", ["It's not blurry", "A"]),
    (DENIED, "B", ["It's blurry"]),
    (DENIED, None, ["It isn't blurry"]),
    (DENIED, "C", ["I can't tell"]),
    (FORMULAS, "A", ["f(x) = x^2"]),
    (FORMULAS, "C", ["The solution is x = 2.", "$x=2$", "\\boxed{C}"]),
    (FORMULAS, None, ["f(x)"]),
    (NUMBERS, "C", ["There are 3 dogs."]),
    (NUMBERS, None, ["13", "1. C", "three"]),
    (NUMBERS, "D", ["Answer: 4"]),
    (SHARES, "A", ["50%"]),
    (SHARES, "B", ["about 5% of it"]),
    (SHARES, "C", ["0.5"]),
    (SHARES, "D", ["1/2"]),
    (SHARES, None, ["15%"]),
    (TIMES, "B", ["It's 10:45."]),
    (TIMES, "C", ["11:30 am"]),
    (TIMES, None, ["30", "10:305"]),
    (DEGREES, "B", ["100°C", "The temperature is 100°C."]),
    (DEGREES, "C", ["-5°C"]),
    (DEGREES, None, ["5°C"]),
    (PEOPLE, "A", ["This is Barack Obama"]),
    (PEOPLE, "B", ["George W. Bush"]),
    (PEOPLE, "D", ["Joe Biden (D)"]),
    (PEOPLE, None, ["Obama"]),
    (COLOURS, "D", ["A mix of red and green", "It is a mix of red and green."]),
    (COLOURS, None, ["Red and green"]),
    (SIDES, "D", ["Top left", "top-left corner"]),
    (SIDES, "A", ["The left side"]),
]
