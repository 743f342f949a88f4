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
]
