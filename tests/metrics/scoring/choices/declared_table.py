"""Verbose replies with the letter that each declares, or None, in the form of choice_table.py.

Exact matching names no option in most of them, as they mention several.
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
SAND = ("We have no teeth", "Sand has no taste", "Sand does not dissolve in water")
FURNITURE = ("red lamp", "blue chair", "green table", "white door")
FROM_ZERO = ("0", "1", "2")
FURNITURE_CHINESE = ("红色的灯", "蓝色的椅子", "绿色的桌子", "白色的门")
APPLES = ("12", "15", "18", "20")
ANIMALS = ("cat", "dog", "horse", "bird")
SIGNED = ("-2", "2", "-4", "4")
TO_THREE = ("1", "2", "3")
FRUIT = ("apple", "pear", "plum", "kiwi", "fig", "lime", "melon", "grape", "peach", "mango")
CHINESE_UNSURE = ("是", "不是", "不确定")

ROWS: list[tuple[tuple[str, ...], str | None, list[str]]] = [
    # A cue and a letter
    (LIGHT, "B", [SEEN + "Therefore, the correct answer is **(B)**."]),
    (LIGHT, "B", [SEEN + "So the answer to the question would be:\n\n**B**"]),
    (LIGHT, "B", [SEEN + "Hence the correct option is B) Dark.", SEEN + "I would go with option B."]),
    (LIGHT, "B", [SEEN + "Between A and B, I lean towards B.", SEEN + "If I had to guess, I would choose (B)."]),
    (LIGHT, "B", [SEEN + "\n\n### Final Answer\n\nB", SEEN + "<CONCLUSION> B </CONCLUSION>"]),
    (LIGHT, "D", [SEEN + "The closest option to this is (D)."]),
    # A cue and a text
    (LIGHT, "B", [SEEN + "The answer is dark.", "Answer: A dark image"]),
    (LIGHT, "B", [SEEN + "Final answer: **Dark**, as shadows cover it."]),
    # The options repeated, then a choice
    (LIGHT, "C", [LISTED + "Answer: C"]),
    (LIGHT, "B", ["(A) is too much, (C) is too little. The answer is (B)."]),
    (LIGHT, "B", ["- A: no\n- B: fits\n- C: no\n\nThe answer is (B)."]),
    # A label first or last
    (LIGHT, "B", ["(B) Dark\n\nThe bright parts are few and the medium ones small.", SEEN + "\n\n(B) Dark"]),
    (LIGHT, None, [LISTED.strip(), "Answer: A) Bright B) Dark C) Medium"]),
    (LIGHT, None, ["(A) seems bright to me, but so does (C) or any medium tone"]),
    # A correction, then an answer
    (LIGHT, "B", ["The answer is A. Wait, I see deep shadows. The answer is B."]),
    (LIGHT, "B", ["The answer is (A). However, the lower half is black. The answer is (B)."]),
    (LIGHT, "B", ["The answer is (A) or (B). Since one is asked for, we choose (B). The answer is (B)."]),
    (LIGHT, "B", ["A. Bright. Let me recheck the shadows. The answer is B."]),
    # Two declarations
    (LIGHT, None, ["The answer is A. The answer is B.", "The answer is (C).\n\nFinal Answer:\nThe answer is (D)."]),
    (LIGHT, None, ["The answer is (A).\n\nThe answer is (B).\n\nThe answer is (A).", "\\boxed{A} and \\boxed{B}"]),
    (LIGHT, None, ["(B) Dark\n\nThe mean is high, so the answer is Bright."]),
    # Several letters, a range, another option's text
    (LIGHT, None, [SEEN + "The answer is either B or C.", SEEN + "The answer is (B) and (C)."]),
    (LIGHT, None, [SEEN + "The answer is B, C or D.", SEEN + "The answer is one of the options (A) through (D)."]),
    (LIGHT, None, [SEEN + "The answer is (B) Bright."]),
    # None of them
    (LIGHT, None, [SEEN + "The answer is not among the options.", SEEN + "The answer is (None of the above)."]),
    (LIGHT, None, [SEEN + "The answer is (F).", SEEN + "I cannot tell which option (B or C) is right."]),
    (LIGHT, None, [SEEN + "The most likely option is (B). Without more information, it is not possible to tell."]),
    # Cut off before it declares
    (LIGHT, None, [SEEN + "So the answer is", SEEN + "Therefore, dark tones are the more likely"]),
    # Nothing is declared by a condition, a list or a word
    (LIGHT, None, ["If it is bright, we choose A. If it is dark, we choose B. If it is neither, we choose C."]),
    (LIGHT, None, ["If the answer is B, the image must be dark, and if it is A, bright."]),
    (LIGHT, None, ["Answer choice A is bright. Answer choice B is dark."]),
    (LIGHT, None, ["The answer is: I cannot say whether A or B is right."]),
    (LIGHT, None, [SEEN + "The answer is a matter of taste."]),
    (LIGHT, None, [SEEN + "Then B = 5 and C = 3, so the answer is B = 5."]),
    # Further questions behind the answer
    (LIGHT, "B", [SEEN + "The answer is (B)." + ASKED]),
    (
        LIGHT,
        "B",
        [SEEN + "The answer is (B).\n\nNow, let's summarize all the answers:\nThe answer is A.\nThe answer is C."],
    ),
    # Conclusions
    (LIGHT, "B", [SEEN + "Therefore, option B is correct."]),
    (LIGHT, None, [SEEN + "Only option B is correct, while (A) is not."]),
    # Reasoning
    (LIGHT, None, ["<think>Bright, or dark? The answer is B. Or medium, so the answer is C."]),
    (LIGHT, "B", ["<think>The answer is A, or C.</think>" + SEEN + "The answer is B."]),
    (IMAGES, "B", ["The third image is most similar to the first. The second image has other colours."]),
    (IMAGES, "B", ["It is hard to say, but the third image is the most likely one. The second image is drawn."]),
    (IMAGES, "A", ["Therefore, the second image (A) fits better than the third one."]),
    (IMAGES, "A", ["It seems that the second image would be a more suitable fit. The third image is too dark."]),
    (IMAGES, "A", ["The second image more closely matches it. The third image, on the other hand, is a drawing."]),
    (IMAGES, None, ["It is not possible to tell whether the second image or the third image fits better."]),
    (IMAGES, None, ["Neither the second image nor the third image is similar. Please provide more details."]),
    (IMAGES, None, ["The second image is more suitable. The third image is more suitable."]),
    (AREAS, "C", ["The sides are 5 and 8, so the area is $7^2 = \\boxed{49}$."]),
    (AREAS, "C", ["25 or 36? The answer is $49 \\text{ cm}^2$.", "25 or 36? The answer is 49 cm²."]),
    (AREAS, None, ["25 cm² or 36 cm²: \\boxed{40}", "25 cm² or 36 cm²: \\boxed{49 \\text{ m}}"]),
    (AREAS, None, ["25 or 36? The answer is 49 times that of the first one."]),
    (ANGLES, "C", ["A and E are 25°, so C is 155. Therefore, angle D is 65 degrees."]),
    (ANGLES, None, ["2t = 35, and 2s = 75. However, this value is not in the options."]),
    (SHARES, "B", ["Either 1/2 or a third remains: \\boxed{\\dfrac{1}{3}}"]),
    (SHARES, "B", ["$\\frac{1}{2}$ and $\\sqrt{2}$ are too large. Answer: 1/3"]),
    (SHARES, "D", ["$\\frac{1}{2}$ and $\\sqrt{2}$ are too large. The answer is $0.25$."]),
    (NONE_TOO, "D", ["I see neither noise nor blur, so the answer is: none of the above."]),
    (NONE_TOO, "D", ["There is blur in places, and noise at the edges. None of the options match."]),
    (NONE_TOO, "D", ["Noise and blur are absent. The answer is none of these options."]),
    (PLACES, "B", ["Point A is on the lid and Point C on the foot. I would select Point B as the best match."]),
    (PLACES, "D", ["Points A and C are on the lid. Therefore, point D is the corresponding point."]),
    (PLACES, "C", ["The point that corresponds to it is:\n\n(C) Point C"]),
    (YES_NO, "A", ["(A) Yes.\n\nWhether no one is there cannot be seen."]),
    (YES_NO, "A", ["It is asked if no cat is there. The answer is yes, because I see one."]),
    (STATEMENTS, "B", ["I. This is true.\nII. This is false.\nIII. This is true.\nThe answer is (B) I and III only."]),
    (STATEMENTS, "C", ["I think that the first statement is false, and so is III. The answer is C."]),
    (IMAGES, "B", ["The second is brighter. The one that shares its style is:\n\n(B) the third image\n\nIt has dots."]),
    (IMAGES, "B", ["It is more appropriate to use the third image. The second image does not match its edges."]),
    (IMAGES, None, ["(A) The second image is similar to it.\n(B) The third image is a drawing.\nBoth may fit."]),
    (CHINESE, "B", ["选项A和选项C都不符合题意。所以答案是B。", "A选项错误,B选项正确。\n【答案】B <eoa>"]),
    (CHINESE, "B", ["不是模糊,也不是偏暗。正确答案应该是清晰。"]),
    (CHINESE, "D", ["A错误,C错误。故选D。"]),
    (CHINESE, None, ["B选项正确,C选项正确。【答案】B、C", "不是A就是C。答案是B或D。"]),
    (CHINESE, None, ["A和B都有可能,题目可能有误,无法得出正确答案。"]),
    # The kinds that real replies showed to be misread, each in English and Chinese.
    # Denied verdicts, and a template's field above explanations
    (LIGHT, None, ["Option B is wrong.", "Option B is incorrect, since the lamp is on."]),
    (LIGHT, None, ["Option B can be ruled out.", "We can rule out option B.", "I would eliminate B."]),
    (LIGHT, None, [SEEN + "Therefore, option B is not correct.", '{"answer": "B or C"}']),
    (LIGHT, "A", ["[Answer] A\n\nExplanation: it is lit from above. Therefore, option B is not correct."]),
    (LIGHT, "A", ["Answer: A<eoa>\nOption A is right, since it is lit. So option B is wrong, and C is wrong."]),
    (LIGHT, "C", ['{"reason": "It is not B but C, as it is dim.", "answer": "C"}']),
    (LIGHT, "D", ['{"answer": "D", "explanation": "B is wrong"}']),
    # Several answers, in every layout
    (LIGHT, None, ["A\nB", "A and C", "A, B", "A,B", "AC", "A & C", "- A\n- C", "Answer: A, C"]),
    (LIGHT, None, ["Answer: A\nAnswer: C", "The answers are A and C.", "\\boxed{A, C}"]),
    (LIGHT, None, ["<answer>A</answer> and <answer>C</answer>"]),
    # A discussion is no answer
    (LIGHT, None, ["Option C suggests that the light is even, but"]),
    (
        LIGHT,
        None,
        ["Option C suggests that the light is even, but the corners are not. Option A means that it is strong."],
    ),
    # A box against a later letter
    (LIGHT, None, [SEEN + "\\boxed{B}\n\nThe answer is C."]),
    (LIGHT, "A", [SEEN + "\\boxed{B}. Wait, the lamp is on. The answer is A."]),
    (LIGHT, "B", [SEEN + "So \\boxed{B}.\n\nAnswer: B"]),
    # A last line, a doubled label
    (LIGHT, "B", [SEEN + "\n\nb", SEEN + "\n\ndark", SEEN + "\n\n**b**"]),
    (LIGHT, "D", ["D.D"]),
    # A new question
    (LIGHT, "B", ["B\n\nQuestion: Is it night?\nOptions:\nA. Yes\nB. No\nAnswer: A"]),
    (LIGHT, "B", ["The answer is B.\n\nHuman: And now?\nAssistant: The answer is C."]),
    # Headings and lists before an answer
    (LIGHT, "B", ["## Step 1: look\n\nIt is dim.\n\n## Step 2: decide\n\nThe best answer is B."]),
    (REFUSALS, None, ["Sorry, I can't help with that.", "I'm sorry, but I cannot identify it."]),
    (REFUSALS, None, ["It is hard to say, the picture is blurry.", "I am unable to see the picture."]),
    (REFUSALS, None, ["It is difficult to tell from this angle."]),
    (REFUSALS, None, ["The picture does not provide enough information."]),
    (REFUSALS, "D", ["I don't know.", "(D) I don't know"]),
    (REFUSALS, "C", ["None of the above", "The answer is none of the above."]),
    (REFUSALS, "B", ["It cannot be a cat, since it barks. The answer is B."]),
    (SAND, "B", ["The reason why we cannot taste sand is option B."]),
    (SAND, "C", ["We cannot taste what does not dissolve. So the correct option is C."]),
    (PICTURES, None, ["There is a dog.", "A dog is in the picture.", "This is a picture of a cat and a dog."]),
    (PICTURES, None, ["I see a dog in a park.", "图中有一只狗。"]),
    (PICTURES, "C", ["The matching shape is C.", "应该选图C。"]),
    (PICTURES, "B", ["b"]),
    (PICTURES, "D", ["Picture D"]),
    (COUNTS, None, ["## Step 4: count\n\nWe count the dogs."]),
    (COUNTS, None, ["1. Look at the left.\n2. Look at the right.\n3. Add them up."]),
    (COUNTS, None, ["Step 3: there are five of them.", "Question 4 is about dogs.", "第3步\uff1a数一数图中的狗。"]),
    (COUNTS, "D", ["### Step 2\n\nThe left has some, the right has some.\n\n### Step 3\n\nThe answer is 5."]),
    (COUNTS, "C", ["There are 4 dogs.", "图中有4只狗。"]),
    (YES_NO, "A", ["Yes\n\nQuestion: Is the sky green? Answer: No"]),
    (YES_NO, "A", ["The sky is seen in it. Question: Is it blue?\nYes"]),
    (YES_NO, "A", ["Yes, since there is no cloud that could hide it.\n\nQ: Is it dark?\nA: No"]),
    (YES_NO, "B", ["No, it is not.\nQuestion: Is it big?\nAnswer: Yes"]),
    (MEATS, "B", ["The main ingredient is B. meat. It gets its red colour from the pepper, not from beans or rice."]),
    (MEATS, "D", ["The answer is D. rice. There are some beans and a little meat too."]),
    (MEATS, "C", ["The main ingredient of the dish is C. corn, with beans on the side."]),
    (PERCENT, "B", ["\\boxed{97.3\\%}", SEEN + "The answer is 97.3%."]),
    (PERCENT, "C", [SEEN + "So the weight is \\boxed{1250}", SEEN + "The answer is 1250 kg."]),
    (PERCENT, None, [SEEN + "The answer is 1,250 m."]),
    (PERCENT, "D", [SEEN + "\\boxed{\\dfrac{3}{4}}", SEEN + "The answer is 3/4."]),
    (AGREE, "B", ["2) Disagree", "The text is clear.\n\n2) Disagree", "disagree"]),
    (AGREE, "A", ["1) Agree"]),
    (TRUTH, "A", ["The proof needs one more step, and that is shown above.\n\nTrue"]),
    (TRUTH, "B", ["It holds for all n.\nFalse", "**False**"]),
    (TRUTH, None, ["The claim is not shown to be true, and it is not false either."]),
    (CUES, "B", ["The answer is B.", "B. None"]),
    (CUES, "D", ["The correct answer is D."]),
    (CUES, "C", ["不正确", "答案是C"]),
    (PARTS, "C", ["It is very dark red."]),
    (PARTS, "B", ["The answer is dark red."]),
    (PARTS, "A", ["red"]),
    (PARTS, "D", ["It is red and blue."]),
    (CHINESE, None, ["选项B不正确。", "选项B错误。", "答案不是B。", "B选项是错误的。", "排除B。", "A\nC", "A和C"]),
    (CHINESE, None, ["A、C", "答案是A和C。", "【答案】AC", "选项C说明光线均匀\uff0c但是", "\\boxed{B}\n\n答案是C。"]),
    (CHINESE, "A", ["[正确答案]A<eoa>\n选项A符合题意。因此\uff0c选项B不正确。"]),
    (CHINESE, "A", ["【答案】A\n【解析】B选项错误\uff0cC选项错误\uff0c所以B不正确。"]),
    (CHINESE, "B", ["图片不模糊。因此\uff0c选项B是正确的。", "因此\uff0c选项B是正确的。"]),
    (CHINESE, "B", ["答案是B。\n\n问题\uff1a天空是蓝色的吗\uff1f\n答案\uff1aA", "经过分析\uff0c图中没有光。\n\nb"]),
    (CHINESE, "C", ["不是A\uff0c而是C。", "正确答案是B。等等\uff0c重新看一下\uff0c应该选C。"]),
    (CHINESE_NONE, None, ["抱歉\uff0c我无法回答这个问题。", "很难判断\uff0c图片太小了。", "无法确定。"]),
    (CHINESE_NONE, "C", ["以上都不对"]),
    (CHINESE_NONE, "D", ["不知道"]),
    (CHINESE_NONE, "B", ["我们不能只看颜色\uff0c因此答案是B。"]),
    (CHINESE_TRUTH, "A", ["对", "答案\uff1a对"]),
    (CHINESE_TRUTH, "B", ["错", "这个说法需要看条件。\n\n错"]),
    (FURNITURE, "B", ["The thing in the middle is B. blue chair. It stands near the green table."]),
    (FURNITURE, "B", ["**B**\n\nA. red lamp: too far away.\nB. blue chair: in front.\nC. green table: behind."]),
    (FURNITURE, "B", ["The options are (A) red lamp, (B) blue chair. The nearest one is a blue chair (B)."]),
    (FURNITURE, None, ["I would choose A and then B.", "A. red lamp, C. green table"]),
    (FURNITURE, None, ["The answer is A. red lamp and C. green table."]),
    (FURNITURE, None, ["A. red lamp\nC. green table\n\nBoth are visible.", "The answer is AC."]),
    (FURNITURE, None, ["We set the distance (D) = 4 m.\n\nD = 4"]),
    (FURNITURE, "C", ["<ans>C. green table</ans>"]),
    (FROM_ZERO, "B", ["<ans>1. To the left</ans>"]),
    (FURNITURE_CHINESE, "C", ["故选C\uff1b红色的灯不符合题意。"]),
    (FURNITURE_CHINESE, "C", ["首先看到的是C. 绿色的桌子\uff0c因为它在图的中间。"]),
    (FURNITURE_CHINESE, None, ["A. 红色的灯\nC. 绿色的桌子\n\n这两个选项都正确。"]),
    (FURNITURE_CHINESE, None, ["A正确\uff0cC正确\uff0c故答案为AC"]),
    (APPLES, "C", ["Tom has 12 and gets 6.\nSo Tom has 18 apples.", "First 12 are taken.\nThen 6 come.\n\n#### 18"]),
    (APPLES, None, ["Tom starts with 12.\n\n15", "The answer is 12 or 15.", "There are more than 12."]),
    (FURNITURE, "C", ["A is out. B is out. D is out. This leaves C."]),
    (FURNITURE, None, ["Option A is possible. Option B is possible too."]),
    (FURNITURE, None, ["The options are:\nA. red lamp\nB. blue chair"]),
    (FURNITURE_CHINESE, "C", ["C选项正确\uff0cA、B、D错误", "A和B都不对\uff0c应该是C", "选A\uff1f不\uff0c选C。"]),
    (FURNITURE_CHINESE, None, ["因此A、B正确\uff0cC、D错误。", "答案\uff1aB D", "正确选项有两个\uff1aB和D。"]),
    (FURNITURE_CHINESE, None, ["A符合题意\uff0cC也符合题意。", "所以B、D正确。"]),
    (FURNITURE_CHINESE, None, ["A正确。\nB错误。\nC正确。\nD错误。", "不能确定是A还是C。"]),
    (FURNITURE_CHINESE, "C", ["A错误。\nB错误。\nC正确。\nD错误。"]),
    (FURNITURE_CHINESE, "C", ["答案\uff1aC\n\n下一题\uff1a天空是什么颜色\uff1f\n答案\uff1aA"]),
    (FURNITURE, "C", ["C. green table\n\n---\n\n**Next question:** Where is the lamp?\nAnswer: B"]),
    (FURNITURE, "C", ["The answer is C\n\n### Instruction:\nAnswer the question.\n\n### Response:\nB"]),
    # Answers that are taken back, denied later, followed by another question, or part of another number.
    (ANIMALS, "D", ["The answer is A. Wait, it is D.", "答案是A。不对\uff0c是D。"]),
    (ANIMALS, "D", ["So the answer is A. Let me verify: it has wings. So D is correct.", "The answer is D.\nC ✗"]),
    (ANIMALS, "D", ["What about A? It does not fit. The answer is D."]),
    (ANIMALS, "D", ["This does not match. The correct option is D.", "A. Wrong\nB. Wrong\nC. Wrong\nD. Right"]),
    (ANIMALS, "C", ["The answer is B. Actually, it is C.", "有人可能会认为答案是A\uff0c但这是错误的。选项C正确。"]),
    (ANIMALS, "C", ["At first glance, one might think the answer is A, but that is not right. Choice: C"]),
    (ANIMALS, "C", ["The final answer is $\\boxed{C}$.\n\nOption D is wrong."]),
    (ANIMALS, "C", ["最终答案是\\boxed{C}。\n\n选项D错误。"]),
    (ANIMALS, "C", ["A: Incorrect.\nB: Incorrect.\nC: Correct.\nD: Incorrect.", "\\boxed{C}\nB. Incorrect."]),
    (ANIMALS, None, ["\\boxed{A}. Wait, I made a mistake. It's D."]),
    (ANIMALS, None, ["One might think the answer is B, but that is not right.", "答案是B\uff0c但这是错误的。"]),
    (ANIMALS, None, ["The answer is B? No.", "Is the answer B? No, it isn't.", "我不认为答案是B。"]),
    (ANIMALS, None, ["很难说答案是B。", "B is the wrong answer.", "B: Incorrect", "B. Incorrect", "B有误"]),
    (ANIMALS, None, ["B可以排除", "B fails.", "B is implausible."]),
    (ANIMALS, None, ["The answer would be B if the picture showed a dog, but it does not."]),
    (ANIMALS, None, ["The answer is A or maybe C.", "The answer is not \\boxed{B}."]),
    (ANIMALS, "B", ["A ❌\nB ✅\nC ❌\nD ❌", "It is B.\n\nQuestion: Which?\nAnswer: A"]),
    (ANIMALS, "B", ["Sure.\nB\n\n问题\uff1a哪个\uff1f\n答案\uff1aA"]),
    (ANIMALS, "B", ["I see a dog, so B.\nQuestion: Which?\nAnswer: A"]),
    (ANIMALS, "B", ["The answer is B. A common wrong answer is A.", "答案选择B选项。A错误。"]),
    (ANIMALS, "A", ["Choice: A\nC - wrong"]),
    (SIGNED, "A", ["答案是-2。", "所以答案是-2。"]),
    (SIGNED, None, ["答案是负2"]),
    (TO_THREE, None, ["答案是1/2", "答案是2%", "答案是2万", "\\boxed{2\\pi}", "\\boxed{2x}", "√2", "2 million"]),
    (FRUIT, "B", ["So I would say B.", "Hence I say B.", "I would choose B.", "I would select (B)."]),
    (FRUIT, "B", ["I would go for option B."]),
    (CHINESE_UNSURE, "B", ["答案是\uff1a不是"]),
    # Denials in further languages.
    (ANIMALS, None, ["Die Antwort ist nicht B.", "La r\u00e9ponse n'est pas B.", "A resposta n\u00e3o \u00e9 B."]),
    (ANIMALS, None, ["\u041e\u0442\u0432\u0435\u0442 \u043d\u0435 B.", "答えはBではありません。"]),
    (ANIMALS, None, ["정답은 B가 아닙니다.", "\u0110\u00e1p \u00e1n kh\u00f4ng ph\u1ea3i l\u00e0 B."]),
    (ANIMALS, None, ["Cevap B de\u011fil."]),
    (ANIMALS, "B", ["La r\u00e9ponse est B.", "So it's B.\n\nNote that option D is a common mistake."]),
]
