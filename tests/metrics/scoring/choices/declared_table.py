"""Verbose replies, with the letter that each declares, or None: by kind, the options once per block.

Same form as choice_table.py. Exact matching names no option in most of them, as they mention several.
"""

LIGHT = ("Bright", "Dark", "Medium", "Dull")
IMAGES = ("the second image", "the third image")
AREAS = ("$25 \\mathrm{~cm}^{2}$", "$36 \\mathrm{~cm}^{2}$", "$49 \\mathrm{~cm}^{2}$", "$64 \\mathrm{~cm}^{2}$")
ANGLES = ("25°", "35°", "65°", "75°")
SHARES = ("$\\frac{1}{2}$", "$\\frac{1}{3}$", "$\\sqrt{2}$", "$x = 0.25$")
NONE_TOO = ("Noise", "Blur", "Banding", "None of the above")
PLACES = ("Point A", "Point B", "Point C", "Point D")
YES_NO = ("Yes", "No")
STATEMENTS = ("I only", "I and III only", "III only", "I, II and III")
CHINESE = ("模糊", "清晰", "偏暗", "过曝")
LISTED = "A. Bright\nB. Dark\nC. Medium\nD. Dull\n\n"
SEEN = "Bright areas are few, and dark ones are many. "
ASKED = "\n\nQuestion: Is the sky blue?\nOptions:\nA. Yes\nB. No\nAnswer: The answer is (A)."

MEATS = ("beans", "meat", "corn", "rice")
REFUSALS = ("Cat", "Dog", "None of the above", "I don't know")
PICTURES = ("A", "B", "C", "D")
AGREE = ("Agree", "Disagree")
TRUTH = ("True", "False")
COUNTS = ("2", "3", "4", "5")
PERCENT = ("87.1 per cent", "97.3 per cent", "1,250 kg", "$\\frac{3}{4}$")
CUES = ("The answer", "None", "不正确", "Correct")
PARTS = ("red", "dark red", "very dark red", "red and blue")
CHINESE_NONE = ("猫", "狗", "以上都不对", "不知道")
CHINESE_TRUTH = ("对", "错")

TABLE: list[tuple[tuple[str, ...], list[tuple[str, str | None]]]] = [
    (
        LIGHT,
        [
            # A cue and a letter
            (SEEN + "Therefore, the correct answer is **(B)**.", "B"),
            (SEEN + "So the answer to the question would be:\n\n**B**", "B"),
            (SEEN + "Hence the correct option is B) Dark.", "B"),
            (SEEN + "The closest option to this is (D).", "D"),
            (SEEN + "I would go with option B.", "B"),
            (SEEN + "Between A and B, I lean towards B.", "B"),
            (SEEN + "If I had to guess, I would choose (B).", "B"),
            (SEEN + "\n\n### Final Answer\n\nB", "B"),
            (SEEN + "<CONCLUSION> B </CONCLUSION>", "B"),
            # A cue and a text
            (SEEN + "The answer is dark.", "B"),
            ("Answer: A dark image", "B"),
            (SEEN + "Final answer: **Dark**, as shadows cover it.", "B"),
            # The options repeated, then a choice
            (LISTED + "Answer: C", "C"),
            ("(A) is too much, (C) is too little. The answer is (B).", "B"),
            ("- A: no\n- B: fits\n- C: no\n\nThe answer is (B).", "B"),
            # A label first or last
            ("(B) Dark\n\nThe bright parts are few and the medium ones small.", "B"),
            (SEEN + "\n\n(B) Dark", "B"),
            (LISTED.strip(), None),
            ("Answer: A) Bright B) Dark C) Medium", None),
            ("(A) seems bright to me, but so does (C) or any medium tone", None),
            # A correction, then an answer
            ("The answer is A. Wait, I see deep shadows. The answer is B.", "B"),
            ("The answer is (A). However, the lower half is black. The answer is (B).", "B"),
            ("The answer is (A) or (B). Since one is asked for, we choose (B). The answer is (B).", "B"),
            ("A. Bright. Let me recheck the shadows. The answer is B.", "B"),
            # Two declarations
            ("The answer is A. The answer is B.", None),
            ("The answer is (C).\n\nFinal Answer:\nThe answer is (D).", None),
            ("The answer is (A).\n\nThe answer is (B).\n\nThe answer is (A).", None),
            ("\\boxed{A} and \\boxed{B}", None),
            ("(B) Dark\n\nThe mean is high, so the answer is Bright.", None),
            # Several letters, a range, another option's text
            (SEEN + "The answer is either B or C.", None),
            (SEEN + "The answer is (B) and (C).", None),
            (SEEN + "The answer is B, C or D.", None),
            (SEEN + "The answer is one of the options (A) through (D).", None),
            (SEEN + "The answer is (B) Bright.", None),
            # None of them
            (SEEN + "The answer is not among the options.", None),
            (SEEN + "The answer is (None of the above).", None),
            (SEEN + "The answer is (F).", None),
            (SEEN + "I cannot tell which option (B or C) is right.", None),
            (SEEN + "The most likely option is (B). Without more information, it is not possible to tell.", None),
            # Cut off before it declares
            (SEEN + "So the answer is", None),
            (SEEN + "Therefore, dark tones are the more likely", None),
            # Nothing is declared by a condition, a list or a word
            ("If it is bright, we choose A. If it is dark, we choose B. If it is neither, we choose C.", None),
            ("If the answer is B, the image must be dark, and if it is A, bright.", None),
            ("Answer choice A is bright. Answer choice B is dark.", None),
            ("The answer is: I cannot say whether A or B is right.", None),
            (SEEN + "The answer is a matter of taste.", None),
            (SEEN + "Then B = 5 and C = 3, so the answer is B = 5.", None),
            # Further questions behind the answer
            (SEEN + "The answer is (B)." + ASKED, "B"),
            (
                SEEN
                + "The answer is (B).\n\nNow, let's summarize all the answers:\nThe answer is A.\nThe answer is C.",
                "B",
            ),
            # Conclusions
            (SEEN + "Therefore, option B is correct.", "B"),
            (SEEN + "Only option B is correct, while (A) is not.", None),
            # Reasoning
            ("<think>Bright, or dark? The answer is B. Or medium, so the answer is C.", None),
            ("<think>The answer is A, or C.</think>" + SEEN + "The answer is B.", "B"),
        ],
    ),
    (
        IMAGES,
        [
            ("The third image is most similar to the first. The second image has other colours.", "B"),
            ("Therefore, the second image (A) fits better than the third one.", "A"),
            ("It seems that the second image would be a more suitable fit. The third image is too dark.", "A"),
            ("The second image more closely matches it. The third image, on the other hand, is a drawing.", "A"),
            ("It is hard to say, but the third image is the most likely one. The second image is drawn.", "B"),
            ("It is not possible to tell whether the second image or the third image fits better.", None),
            ("Neither the second image nor the third image is similar. Please provide more details.", None),
            ("The second image is more suitable. The third image is more suitable.", None),
        ],
    ),
    (
        AREAS,
        [
            ("The sides are 5 and 8, so the area is $7^2 = \\boxed{49}$.", "C"),
            ("25 or 36? The answer is $49 \\text{ cm}^2$.", "C"),
            ("25 or 36? The answer is 49 cm².", "C"),
            ("25 cm² or 36 cm²: \\boxed{40}", None),
            ("25 cm² or 36 cm²: \\boxed{49 \\text{ m}}", None),
            ("25 or 36? The answer is 49 times that of the first one.", None),
        ],
    ),
    (
        ANGLES,
        [
            ("A and E are 25°, so C is 155. Therefore, angle D is 65 degrees.", "C"),
            ("2t = 35, and 2s = 75. However, this value is not in the options.", None),
        ],
    ),
    (
        SHARES,
        [
            ("Either 1/2 or a third remains: \\boxed{\\dfrac{1}{3}}", "B"),
            ("$\\frac{1}{2}$ and $\\sqrt{2}$ are too large. Answer: 1/3", "B"),
            ("$\\frac{1}{2}$ and $\\sqrt{2}$ are too large. The answer is $0.25$.", "D"),
        ],
    ),
    (
        NONE_TOO,
        [
            ("I see neither noise nor blur, so the answer is: none of the above.", "D"),
            ("There is blur in places, and noise at the edges. None of the options match.", "D"),
            ("Noise and blur are absent. The answer is none of these options.", "D"),
        ],
    ),
    (
        PLACES,
        [
            ("Point A is on the lid and Point C on the foot. I would select Point B as the best match.", "B"),
            ("Points A and C are on the lid. Therefore, point D is the corresponding point.", "D"),
            ("The point that corresponds to it is:\n\n(C) Point C", "C"),
        ],
    ),
    (
        YES_NO,
        [
            ("(A) Yes.\n\nWhether no one is there cannot be seen.", "A"),
            ("It is asked if no cat is there. The answer is yes, because I see one.", "A"),
        ],
    ),
    (
        STATEMENTS,
        [
            ("I. This is true.\nII. This is false.\nIII. This is true.\nThe answer is (B) I and III only.", "B"),
            ("I think that the first statement is false, and so is III. The answer is C.", "C"),
        ],
    ),
    (
        IMAGES,
        [
            (
                "The second is brighter. The one that shares its style is:\n\n(B) the third image\n\nIt has dots.",
                "B",
            ),
            (
                "(A) The second image is similar to it.\n(B) The third image is a drawing.\nBoth may fit.",
                None,
            ),
            ("It is more appropriate to use the third image. The second image does not match its edges.", "B"),
        ],
    ),
    (
        CHINESE,
        [
            ("选项A和选项C都不符合题意。所以答案是B。", "B"),
            ("A选项错误,B选项正确。\n【答案】B <eoa>", "B"),
            ("A错误,C错误。故选D。", "D"),
            ("不是模糊,也不是偏暗。正确答案应该是清晰。", "B"),
            ("B选项正确,C选项正确。【答案】B、C", None),
            ("不是A就是C。答案是B或D。", None),
            ("A和B都有可能,题目可能有误,无法得出正确答案。", None),
        ],
    ),
    # The kinds that real replies showed to be misread, each in English and Chinese.
    (
        LIGHT,
        [
            # Denied verdicts, and a template's field above explanations
            ("Option B is wrong.", None),
            ("Option B is incorrect, since the lamp is on.", None),
            ("Option B can be ruled out.", None),
            ("We can rule out option B.", None),
            ("I would eliminate B.", None),
            (SEEN + "Therefore, option B is not correct.", None),
            ("[Answer] A\n\nExplanation: it is lit from above. Therefore, option B is not correct.", "A"),
            ("Answer: A<eoa>\nOption A is right, since it is lit. So option B is wrong, and C is wrong.", "A"),
            ('{"reason": "It is not B but C, as it is dim.", "answer": "C"}', "C"),
            ('{"answer": "D", "explanation": "B is wrong"}', "D"),
            ('{"answer": "B or C"}', None),
            # Several answers, in every layout
            ("A\nB", None),
            ("A and C", None),
            ("A, B", None),
            ("A,B", None),
            ("AC", None),
            ("A & C", None),
            ("- A\n- C", None),
            ("Answer: A, C", None),
            ("Answer: A\nAnswer: C", None),
            ("The answers are A and C.", None),
            ("\\boxed{A, C}", None),
            ("<answer>A</answer> and <answer>C</answer>", None),
            # A discussion is no answer
            ("Option C suggests that the light is even, but", None),
            (
                "Option C suggests that the light is even, but the corners are not. Option A means that it is strong.",
                None,
            ),
            # A box against a later letter
            (SEEN + "\\boxed{B}\n\nThe answer is C.", None),
            (SEEN + "\\boxed{B}. Wait, the lamp is on. The answer is A.", "A"),
            (SEEN + "So \\boxed{B}.\n\nAnswer: B", "B"),
            # A last line, a doubled label
            (SEEN + "\n\nb", "B"),
            (SEEN + "\n\ndark", "B"),
            ("D.D", "D"),
            (SEEN + "\n\n**b**", "B"),
            # A new question
            ("B\n\nQuestion: Is it night?\nOptions:\nA. Yes\nB. No\nAnswer: A", "B"),
            ("The answer is B.\n\nHuman: And now?\nAssistant: The answer is C.", "B"),
            # Headings and lists before an answer
            ("## Step 1: look\n\nIt is dim.\n\n## Step 2: decide\n\nThe best answer is B.", "B"),
        ],
    ),
    (
        REFUSALS,
        [
            ("Sorry, I can't help with that.", None),
            ("I'm sorry, but I cannot identify it.", None),
            ("It is hard to say, the picture is blurry.", None),
            ("I am unable to see the picture.", None),
            ("It is difficult to tell from this angle.", None),
            ("The picture does not provide enough information.", None),
            ("I don't know.", "D"),
            ("None of the above", "C"),
            ("The answer is none of the above.", "C"),
            ("(D) I don't know", "D"),
            ("It cannot be a cat, since it barks. The answer is B.", "B"),
        ],
    ),
    (
        ("We have no teeth", "Sand has no taste", "Sand does not dissolve in water"),
        [
            ("The reason why we cannot taste sand is option B.", "B"),
            ("We cannot taste what does not dissolve. So the correct option is C.", "C"),
        ],
    ),
    (
        PICTURES,
        [
            ("There is a dog.", None),
            ("A dog is in the picture.", None),
            ("This is a picture of a cat and a dog.", None),
            ("I see a dog in a park.", None),
            ("The matching shape is C.", "C"),
            ("b", "B"),
            ("Picture D", "D"),
            ("图中有一只狗。", None),
            ("应该选图C。", "C"),
        ],
    ),
    (
        COUNTS,
        [
            ("## Step 4: count\n\nWe count the dogs.", None),
            ("1. Look at the left.\n2. Look at the right.\n3. Add them up.", None),
            ("### Step 2\n\nThe left has some, the right has some.\n\n### Step 3\n\nThe answer is 5.", "D"),
            ("Step 3: there are five of them.", None),
            ("Question 4 is about dogs.", None),
            ("第3步\uff1a数一数图中的狗。", None),
            ("There are 4 dogs.", "C"),
            ("图中有4只狗。", "C"),
        ],
    ),
    (
        YES_NO,
        [
            ("Yes\n\nQuestion: Is the sky green? Answer: No", "A"),
            ("No, it is not.\nQuestion: Is it big?\nAnswer: Yes", "B"),
            ("The sky is seen in it. Question: Is it blue?\nYes", "A"),
            ("Yes, since there is no cloud that could hide it.\n\nQ: Is it dark?\nA: No", "A"),
        ],
    ),
    (
        MEATS,
        [
            ("The main ingredient is B. meat. It gets its red colour from the pepper, not from beans or rice.", "B"),
            ("The answer is D. rice. There are some beans and a little meat too.", "D"),
            ("The main ingredient of the dish is C. corn, with beans on the side.", "C"),
        ],
    ),
    (
        PERCENT,
        [
            ("\\boxed{97.3\\%}", "B"),
            (SEEN + "The answer is 97.3%.", "B"),
            (SEEN + "So the weight is \\boxed{1250}", "C"),
            (SEEN + "The answer is 1250 kg.", "C"),
            (SEEN + "The answer is 1,250 m.", None),
            (SEEN + "\\boxed{\\dfrac{3}{4}}", "D"),
            (SEEN + "The answer is 3/4.", "D"),
        ],
    ),
    (AGREE, [("2) Disagree", "B"), ("1) Agree", "A"), ("The text is clear.\n\n2) Disagree", "B"), ("disagree", "B")]),
    (
        TRUTH,
        [
            ("The proof needs one more step, and that is shown above.\n\nTrue", "A"),
            ("It holds for all n.\nFalse", "B"),
            ("The claim is not shown to be true, and it is not false either.", None),
            ("**False**", "B"),
        ],
    ),
    (
        CUES,
        [
            ("The answer is B.", "B"),
            ("B. None", "B"),
            ("The correct answer is D.", "D"),
            ("不正确", "C"),
            ("答案是C", "C"),
        ],
    ),
    (
        PARTS,
        [
            ("It is very dark red.", "C"),
            ("The answer is dark red.", "B"),
            ("red", "A"),
            ("It is red and blue.", "D"),
        ],
    ),
    (
        CHINESE,
        [
            ("选项B不正确。", None),
            ("选项B错误。", None),
            ("答案不是B。", None),
            ("B选项是错误的。", None),
            ("排除B。", None),
            ("[正确答案]A<eoa>\n选项A符合题意。因此\uff0c选项B不正确。", "A"),
            ("【答案】A\n【解析】B选项错误\uff0cC选项错误\uff0c所以B不正确。", "A"),
            ("图片不模糊。因此\uff0c选项B是正确的。", "B"),
            ("因此\uff0c选项B是正确的。", "B"),
            ("不是A\uff0c而是C。", "C"),
            ("A\nC", None),
            ("A和C", None),
            ("A、C", None),
            ("答案是A和C。", None),
            ("【答案】AC", None),
            ("选项C说明光线均匀\uff0c但是", None),
            ("正确答案是B。等等\uff0c重新看一下\uff0c应该选C。", "C"),
            ("\\boxed{B}\n\n答案是C。", None),
            ("答案是B。\n\n问题\uff1a天空是蓝色的吗\uff1f\n答案\uff1aA", "B"),
            ("经过分析\uff0c图中没有光。\n\nb", "B"),
        ],
    ),
    (
        CHINESE_NONE,
        [
            ("抱歉\uff0c我无法回答这个问题。", None),
            ("很难判断\uff0c图片太小了。", None),
            ("无法确定。", None),
            ("以上都不对", "C"),
            ("不知道", "D"),
            ("我们不能只看颜色\uff0c因此答案是B。", "B"),
        ],
    ),
    (CHINESE_TRUTH, [("对", "A"), ("错", "B"), ("这个说法需要看条件。\n\n错", "B"), ("答案\uff1a对", "A")]),
    (
        ("red lamp", "blue chair", "green table", "white door"),
        [
            ("The thing in the middle is B. blue chair. It stands near the green table.", "B"),
            ("**B**\n\nA. red lamp: too far away.\nB. blue chair: in front.\nC. green table: behind.", "B"),
            ("The options are (A) red lamp, (B) blue chair. The nearest one is a blue chair (B).", "B"),
            ("I would choose A and then B.", None),
            ("A. red lamp, C. green table", None),
            ("The answer is A. red lamp and C. green table.", None),
            ("A. red lamp\nC. green table\n\nBoth are visible.", None),
            ("The answer is AC.", None),
            ("We set the distance (D) = 4 m.\n\nD = 4", None),
            ("<ans>C. green table</ans>", "C"),
        ],
    ),
    (("0", "1", "2"), [("<ans>1. To the left</ans>", "B")]),
    (
        ("红色的灯", "蓝色的椅子", "绿色的桌子", "白色的门"),
        [
            ("故选C\uff1b红色的灯不符合题意。", "C"),
            ("首先看到的是C. 绿色的桌子\uff0c因为它在图的中间。", "C"),
            ("A. 红色的灯\nC. 绿色的桌子\n\n这两个选项都正确。", None),
            ("A正确\uff0cC正确\uff0c故答案为AC", None),
        ],
    ),
    (
        ("12", "15", "18", "20"),
        [
            ("Tom has 12 and gets 6.\nSo Tom has 18 apples.", "C"),
            ("First 12 are taken.\nThen 6 come.\n\n#### 18", "C"),
            ("Tom starts with 12.\n\n15", None),
            ("The answer is 12 or 15.", None),
            ("There are more than 12.", None),
        ],
    ),
    (
        ("red lamp", "blue chair", "green table", "white door"),
        [
            ("A is out. B is out. D is out. This leaves C.", "C"),
            ("Option A is possible. Option B is possible too.", None),
            ("The options are:\nA. red lamp\nB. blue chair", None),
        ],
    ),
    (
        ("红色的灯", "蓝色的椅子", "绿色的桌子", "白色的门"),
        [
            ("C选项正确\uff0cA、B、D错误", "C"),
            ("因此A、B正确\uff0cC、D错误。", None),
            ("A和B都不对\uff0c应该是C", "C"),
            ("选A\uff1f不\uff0c选C。", "C"),
            ("答案\uff1aB D", None),
            ("正确选项有两个\uff1aB和D。", None),
        ],
    ),
    (
        ("红色的灯", "蓝色的椅子", "绿色的桌子", "白色的门"),
        [
            ("A符合题意\uff0cC也符合题意。", None),
            ("所以B、D正确。", None),
            ("A错误。\nB错误。\nC正确。\nD错误。", "C"),
            ("A正确。\nB错误。\nC正确。\nD错误。", None),
            ("不能确定是A还是C。", None),
            ("答案\uff1aC\n\n下一题\uff1a天空是什么颜色\uff1f\n答案\uff1aA", "C"),
        ],
    ),
    (
        ("red lamp", "blue chair", "green table", "white door"),
        [
            ("C. green table\n\n---\n\n**Next question:** Where is the lamp?\nAnswer: B", "C"),
            ("The answer is C\n\n### Instruction:\nAnswer the question.\n\n### Response:\nB", "C"),
        ],
    ),
    # Answers that are taken back, denied later, followed by another question, or part of another number.
    (
        ("cat", "dog", "horse", "bird"),
        [
            ("The answer is A. Wait, it is D.", "D"),
            ("The answer is B. Actually, it is C.", "C"),
            ("答案是A。不对\uff0c是D。", "D"),
            ("So the answer is A. Let me verify: it has wings. So D is correct.", "D"),
            ("\\boxed{A}. Wait, I made a mistake. It's D.", None),
            ("One might think the answer is B, but that is not right.", None),
            ("答案是B\uff0c但这是错误的。", None),
            ("有人可能会认为答案是A\uff0c但这是错误的。选项C正确。", "C"),
            ("At first glance, one might think the answer is A, but that is not right. Choice: C", "C"),
            ("The answer is B? No.", None),
            ("Is the answer B? No, it isn't.", None),
            ("我不认为答案是B。", None),
            ("很难说答案是B。", None),
            ("A ❌\nB ✅\nC ❌\nD ❌", "B"),
            ("The answer is D.\nC ✗", "D"),
            ("It is B.\n\nQuestion: Which?\nAnswer: A", "B"),
            ("Sure.\nB\n\n问题\uff1a哪个\uff1f\n答案\uff1aA", "B"),
            ("I see a dog, so B.\nQuestion: Which?\nAnswer: A", "B"),
            ("What about A? It does not fit. The answer is D.", "D"),
            ("This does not match. The correct option is D.", "D"),
            ("B is the wrong answer.", None),
            ("B: Incorrect", None),
            ("B. Incorrect", None),
            ("B有误", None),
            ("B可以排除", None),
            ("B fails.", None),
            ("B is implausible.", None),
            ("The answer would be B if the picture showed a dog, but it does not.", None),
            ("The answer is A or maybe C.", None),
            ("The answer is not \\boxed{B}.", None),
            ("The final answer is $\\boxed{C}$.\n\nOption D is wrong.", "C"),
            ("最终答案是\\boxed{C}。\n\n选项D错误。", "C"),
            ("The answer is B. A common wrong answer is A.", "B"),
            ("答案选择B选项。A错误。", "B"),
            ("A: Incorrect.\nB: Incorrect.\nC: Correct.\nD: Incorrect.", "C"),
            ("A. Wrong\nB. Wrong\nC. Wrong\nD. Right", "D"),
            ("\\boxed{C}\nB. Incorrect.", "C"),
            ("Choice: A\nC - wrong", "A"),
        ],
    ),
    (
        ("-2", "2", "-4", "4"),
        [
            ("答案是-2。", "A"),
            ("所以答案是-2。", "A"),
            ("答案是负2", None),
        ],
    ),
    (
        ("1", "2", "3"),
        [
            ("答案是1/2", None),
            ("答案是2%", None),
            ("答案是2万", None),
            ("\\boxed{2\\pi}", None),
            ("\\boxed{2x}", None),
            ("√2", None),
            ("2 million", None),
        ],
    ),
    (
        ("apple", "pear", "plum", "kiwi", "fig", "lime", "melon", "grape", "peach", "mango"),
        [
            ("So I would say B.", "B"),
            ("Hence I say B.", "B"),
            ("I would choose B.", "B"),
            ("I would select (B).", "B"),
            ("I would go for option B.", "B"),
        ],
    ),
    (
        ("是", "不是", "不确定"),
        [
            ("答案是\uff1a不是", "B"),
        ],
    ),
    # Denials in further languages.
    (
        ("cat", "dog", "horse", "bird"),
        [
            ("Die Antwort ist nicht B.", None),
            ("La r\u00e9ponse n'est pas B.", None),
            ("La r\u00e9ponse est B.", "B"),
            ("A resposta n\u00e3o \u00e9 B.", None),
            ("\u041e\u0442\u0432\u0435\u0442 \u043d\u0435 B.", None),
            ("答えはBではありません。", None),
            ("정답은 B가 아닙니다.", None),
            ("\u0110\u00e1p \u00e1n kh\u00f4ng ph\u1ea3i l\u00e0 B.", None),
            ("Cevap B de\u011fil.", None),
            ("So it's B.\n\nNote that option D is a common mistake.", "B"),
        ],
    ),
]
