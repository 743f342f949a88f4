"""Replies that mislead a careless parser: rejections, comparisons, names, quotations, mathematics, other languages.

Same form as choice_table.py: options once per block, each reply with the letter it names, or None. The blocks open with
the examples of exact matching that the protocol names.
"""

LIGHT = ("Bright", "Dark", "Medium", "Dull")
BLUR = ("Sharp", "Blurry", "Very blurry")
YES_NO = ("Yes", "No")
NOISE = ("Noise", "Motion blur", "Overexposure", "Out of focus")
QUALITY = ("Good", "Poor", "Fair")
LEVEL = ("High", "Medium", "Low")
REFUSAL = ("Clear", "Blurry", "I don't know")
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

TABLE: list[tuple[tuple[str, ...], list[tuple[str, str | None]]]] = [
    (
        LIGHT,
        [
            # The protocol's examples
            ("C", "C"),
            ("C.", "C"),
            ("(C)", "C"),
            ("C)", "C"),
            ("**C**", "C"),
            ("C: Medium", "C"),
            ("Answer: C", "C"),
            ("The answer is C.", "C"),
            ("<answer>C</answer>", "C"),
            ("\\boxed{C}", "C"),
            ("Option C", "C"),
            ("c", "C"),
            ("选C", "C"),
            ("答案是C\u3002", "C"),
            ("The answer is dark.", "B"),
            ("It is acceptable", None),
            ("A: Dark", None),
            ("I don't know", None),
            ("I see that B' is a prime", None),
            ("<think>Bright? No.</think>Dark", "B"),
            # Reasoning written out
            ("Step 1: look at the histogram. Step 2: decide.\n\n**Final Answer:** B", "B"),
            ("### Final Answer\n\n**B. Dark**", "B"),
            ("The correct answer is:\n\nB. Dark\n\nThe image is not bright.", "B"),
            ("<think>First B, maybe C.\n</think>\n\nB", "B"),
            ("<think>A <think>or B</think> or C</think> D", "D"),
            ("<think>A</think> B <think>C</think>", "B"),
            ("A. Bright: no\nB. Dark: yes\n\nAnswer: B", None),
            ("Options: A. Bright B. Dark C. Medium D. Dull. The answer is B.", None),
            ("B\n\nExplanation: it is dark, with some bright areas.", None),
            # LaTeX
            ("The final answer is $\\boxed{\\text{B}}$", "B"),
            ("The final answer is $\\boxed{B. Dark}$", "B"),
            ("\\[ \\boxed{\\text{(B) Dark}} \\]", "B"),
            ("\\boxed{\\textbf{(B)}}", "B"),
            ("\\boxed{B} \\boxed{B}", "B"),
            ("\\boxed{B} \\boxed{C}", None),
            ("\\boxed{B} \\boxed{?}", None),
            ("Therefore, the answer is \\( B \\).", "B"),
            ("Therefore, the answer is $B$.", "B"),
            ("\\(\\text{B}\\)", "B"),
            # Lists, tables, code, quotations
            ("```\nB\n```", "B"),
            ('```json\n{"answer": "B"}\n```', "B"),
            ("{'answer': 'B'}", "B"),
            ("The correct answer is 'A'.", "A"),
            ("The correct answer is \u2018A\u2019.", "A"),
            ("B|Dark", "B"),
            ("1. B", "B"),
            ("- [ ] A\n- [x] B\n- [ ] C", None),
            ("\ufeffB", "B"),
            ("B\u200b", "B"),
            ("The\u00a0answer\u00a0is\u00a0B", "B"),
            ("\u2705 B", "B"),
            ("[[B]]", "B"),
            ("<s> B </s>", "B"),
            # Rejections
            ("Not A but B", "B"),
            ("Not A; rather B.", "B"),
            ("The answer is B, not A.", "B"),
            ("The correct answer isn't B but C", "C"),
            ("B isn't right; C is.", "C"),
            ("(B) is the right answer, (A) is wrong", "B"),
            ("A is wrong, C is wrong, so B", "B"),
            ("Options A and C are incorrect; the answer is B", "B"),
            ("A, B, and C are incorrect, so D.", "D"),
            ("A, C or D aren't right. B is.", "B"),
            ("The answer is B, A is wrong", "B"),
            ("The answer is B, and A and C are wrong", "B"),
            ("A and B are right", None),
            ("B rather than C", "B"),
            ("B instead of C", "B"),
            ("It's not bright, it's not medium, it's dark.", "B"),
            ("Neither bright nor medium; dark.", "B"),
            ("Dark, definitely not bright or medium", "B"),
            ("The image is free of dark areas", None),
            ("Hardly dark", None),
            ("far from dark", None),
            ("the opposite of bright", None),
            ("The image lacks bright areas, so it is dark", "B"),
            ("It is not only dark but also dull", None),
            ("It is not only dark, it is very dark", "B"),
            # Both, neither, comparisons
            ("Both A and B", None),
            ("Between A and B", None),
            ("A to B", None),
            ("A through D", None),
            ("A versus B", None),
            ("B, C", None),
            ("B.\nC.", None),
            ("B is the best. C is the worst.", None),
            ("more dark than bright", None),
            ("Bright, medium or dull", None),
            # A letter that is something else
            ("Image A is dark", "B"),
            ("Group A is dark", "B"),
            ("Figure D shows a dark scene", "B"),
            ("A dark photograph", "B"),
            ("Answer: A cat sits in the dark", "B"),
            ("Answer: A photo", None),
            ("I choose a dark image", "B"),
            ("USB-C", None),
            ("R&B", None),
            ("B/W photo", None),
            ("It's 3 D", None),
            ("Vitamin D", None),
            ("A=B", None),
            # The letter A in a sentence
            ("A, because it is well lit", "A"),
            ("A is the correct answer", "A"),
            ("A fits best", "A"),
            ("A it is", "A"),
            ("A for sure", "A"),
            ("I'd say A", "A"),
            ("So, A.", "A"),
            ("The answer A", "A"),
            ("answer=A", "A"),
            ("A well-lit photo", None),
            ("A photograph of a cat", None),
            # Other languages
            ("答案\uff1aA", "A"),
            ("不是A\uff0c而是B", "B"),
            ("选项B\uff1aDark", "B"),
            ("La respuesta es B.", "B"),
            ("Die Antwort ist B.", "B"),
            ("Resposta: A", "A"),
            ("Ответ: B", "B"),
            ("정답: B", "B"),
            # No answer at all
            ("As an AI language model, I cannot see images.", None),
            ("I'm sorry, but I can't assist with that.", None),
            ("The image shows a dark room with a bright window.", None),
            ("darkness", None),
            ("Darker", None),
        ],
    ),
    (
        BLUR,
        [
            ("Very blurry", "C"),
            ("It is not blurry", None),
            ("A blurry image", "B"),
            ("I would say it's more blurry than sharp", None),
            ("The image is blurry rather than sharp.", "B"),
            ("blurry instead of sharp", "B"),
            ("It is anything but sharp", None),
            ("It cannot be called sharp", None),
            ("It isn't sharp, nor blurry", None),
            ("no longer sharp", None),
            ("Sharp vs blurry", None),
            ("rather blurry", "B"),
        ],
    ),
    (
        YES_NO,
        [
            ("A: No, B: Yes", None),
            ("A: Yes, B: No", None),
            ("Yes (A)", "A"),
            ("Yes, B", None),
            ("No. A", None),
            ("No, the correct answer is A.", None),
            ("Yes, there is no noise", "A"),
            ("Yes it's A", "A"),
            ("\\boxed{\\text{No}}", "B"),
            ("The answer is not yes", None),
            ("Not really", None),
            ("Nope", None),
            ("Is it blurry? Yes.", None),
            ("Based on the image, no.", None),
        ],
    ),
    (
        NOISE,
        [
            ("there is no noise", None),
            ("There is no noise or motion blur. The issue is overexposure.", "C"),
            ("The image is free from motion blur; overexposure is there", "C"),
            ("hardly any noise", None),
            ("There's a lack of noise", None),
            ("It lacks noise", None),
            ("The absence of noise is striking", None),
            ("It doesn't have noise; it's out of focus.", "D"),
            ("not out of focus", None),
            ("motion blurring", None),
        ],
    ),
    (QUALITY, [("It is poor, not good", "B"), ("poor-quality", "B"), ("Good quality, fair colour", None)]),
    (
        LEVEL,
        [
            ("It is between medium and low", None),
            ("medium to high", None),
            ("Medium-low", None),
            ("A. High B. Medium C. Low", None),
        ],
    ),
    (
        REFUSAL,
        [
            ("I don't know", "C"),
            ("I'm not sure", None),
            ("I don't know, but perhaps it is blurry", None),
            ("The image is clear, I don't know why", None),
        ],
    ),
    (OBJECTS, [("a cute teddy bear", "A"), ("A teddy bear", "A"), ("A cat", "C"), ("cats", None), ("Spider", None)]),
    (PHASES, [("A solid", "A"), ("A liquid", "B"), ("The answer is A solid", "A"), ("A liquid. The answer is B", "B")]),
    (
        ABOVE,
        [
            ("Both A and B", "C"),
            ("C. Both A and B", "C"),
            ("None of the above", "D"),
            ("noise and blur", None),
            ("A", "A"),
        ],
    ),
    (
        SENTENCES,
        [
            ("There is no noise", "A"),
            ("There is some noise.", "B"),
            ("there is a lot of noise here", "C"),
            ("There is not a lot of noise", None),
        ],
    ),
    (
        DENIED,
        [("It's not blurry", "A"), ("It's blurry", "B"), ("It isn't blurry", None), ("I can't tell", "C"), ("A", "A")],
    ),
    (
        FORMULAS,
        [("f(x) = x^2", "A"), ("The solution is x = 2.", "C"), ("$x=2$", "C"), ("\\boxed{C}", "C"), ("f(x)", None)],
    ),
    (NUMBERS, [("There are 3 dogs.", "C"), ("13", None), ("1. C", None), ("Answer: 4", "D"), ("three", None)]),
    (SHARES, [("50%", "A"), ("about 5% of it", "B"), ("0.5", "C"), ("1/2", "D"), ("15%", None)]),
    (TIMES, [("It's 10:45.", "B"), ("11:30 am", "C"), ("30", None), ("10:305", None)]),
    (DEGREES, [("100°C", "B"), ("-5°C", "C"), ("5°C", None), ("The temperature is 100°C.", "B")]),
    (PEOPLE, [("This is Barack Obama", "A"), ("George W. Bush", "B"), ("Joe Biden (D)", "D"), ("Obama", None)]),
    (COLOURS, [("A mix of red and green", "D"), ("Red and green", None), ("It is a mix of red and green.", "D")]),
    (SIDES, [("Top left", "D"), ("top-left corner", "D"), ("The left side", "A")]),
]
