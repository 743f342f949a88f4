"""Questions about a scene for each of MMBench's twenty leaf abilities, in English and Chinese.

Every question asks for one fact of a picture (`FACTS`). For abilities that need world knowledge, a hint states it, so
that the answer follows from only the picture and the hint.
"""

# Chinese has punctuation of its own.
# ruff: noqa: RUF001

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from eyechart.datasets_scripts.mini.distortions import distort
from eyechart.datasets_scripts.mini.scenes import COLORS, POSITIONS, SHAPES, SIZES, Scene

TREATMENTS: Mapping[str, Mapping[str, tuple[str, int] | None]] = MappingProxyType(
    {
        "style": {"plain": None, "grey": ("desaturation", 5), "mosaic": ("pixelation", 5)},
        "mood": {"plain": None, "dark": ("darkening", 4), "bright": ("over-exposure", 4)},
        "quality": {"good": None, "medium": ("blur", 3), "poor": ("blur", 5)},
        "motion": {"plain": None, "moved": ("motion blur", 5)},
    }
)
"""Facts produced by a distortion (type and level), with their values."""
FACTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "shape": SHAPES,
        "color": tuple(COLORS),
        "background": tuple(COLORS),
        "position": POSITIONS,
        "size": SIZES,
        "digit": ("0", "1", "4", "7"),
        "warmth": ("object", "ground", "equal"),
        **{fact: tuple(values) for fact, values in TREATMENTS.items()},
    }
)
"""Facts to ask for, with their values. `shape` to `size` are fields of a scene; a digit is written onto it."""
WARM_COLORS = ("red", "yellow")
NONE_OF_THESE: Mapping[str, str] = MappingProxyType({"en": "None of these", "cn": "以上都不是"})
"""A last option that is never correct, by language."""


@dataclass(frozen=True)
class Wording:
    """A question in one language."""

    question: str
    options: tuple[str, ...]
    """One text for each value of the fact, in the order of `FACTS`."""
    hint: str = ""


@dataclass(frozen=True)
class AbilityQuestion:
    """The question of one ability."""

    fact: str
    """One of `FACTS`."""
    en: Wording
    cn: Wording


QUESTIONS: Mapping[str, AbilityQuestion] = MappingProxyType(
    {
        "image_style": AbilityQuestion(
            "style",
            Wording("Which style does this picture have?", ("Color drawing", "Black-and-white drawing", "Mosaic")),
            Wording("这幅图是什么风格？", ("彩色画", "黑白画", "马赛克")),
        ),
        "image_scene": AbilityQuestion(
            "background",
            Wording("Which ground does the picture show?", ("Red", "Green", "Blue", "Yellow", "Purple")),
            Wording("图中的背景是什么颜色？", ("红色", "绿色", "蓝色", "黄色", "紫色")),
        ),
        "image_emotion": AbilityQuestion(
            "mood",
            Wording("Which mood does the light of the picture convey?", ("Calm", "Gloomy", "Dazzling")),
            Wording("这幅图的光线传达了什么情绪？", ("平静", "阴沉", "耀眼")),
        ),
        "image_quality": AbilityQuestion(
            "quality",
            Wording("How is the quality of the image?", ("Good", "Medium", "Poor")),
            Wording("这幅图的质量如何？", ("好", "中等", "差")),
        ),
        "image_topic": AbilityQuestion(
            "shape",
            Wording("What is this picture about?", ("A circle", "A square", "A triangle", "A star")),
            Wording("这幅图的主题是什么？", ("圆形", "正方形", "三角形", "星形")),
        ),
        "object_localization": AbilityQuestion(
            "position",
            Wording("Where is the main object?", ("Left", "Center", "Right")),
            Wording("主要物体在哪里？", ("左边", "中间", "右边")),
        ),
        "attribute_recognition": AbilityQuestion(
            "color",
            Wording("What color is the main object?", ("Red", "Green", "Blue", "Yellow", "Purple")),
            Wording("主要物体是什么颜色？", ("红色", "绿色", "蓝色", "黄色", "紫色")),
        ),
        "celebrity_recognition": AbilityQuestion(
            "shape",
            Wording(
                "Who is in the picture?",
                ("Rondo", "Quadro", "Trigo", "Stella"),
                "The circle is called Rondo, the square Quadro, the triangle Trigo and the star Stella.",
            ),
            Wording(
                "图中是谁？",
                ("圆圆", "方方", "尖尖", "星星"),
                "圆形叫圆圆，正方形叫方方，三角形叫尖尖，星形叫星星。",
            ),
        ),
        "ocr": AbilityQuestion(
            "digit",
            Wording("Which digit is written in the picture?", ("0", "1", "4", "7")),
            Wording("图中写着哪个数字？", ("0", "1", "4", "7")),
        ),
        "spatial_relationship": AbilityQuestion(
            "position",
            Wording(
                "Where is the object in relation to the middle of the picture?",
                ("It is to the left of it.", "It is right on it.", "It is to the right of it."),
            ),
            Wording("相对于图的中心，物体在哪里？", ("在它的左侧。", "正好在它上面。", "在它的右侧。")),
        ),
        "attribute_comparison": AbilityQuestion(
            "warmth",
            Wording(
                "Which has the warmer color, the object or the ground? Red and yellow are warm.",
                ("The object", "The ground", "Both are alike"),
            ),
            Wording("物体和背景，哪个颜色更暖？红色和黄色是暖色。", ("物体", "背景", "一样")),
        ),
        "action_recognition": AbilityQuestion(
            "motion",
            Wording("What did the camera do?", ("It stood still", "It moved")),
            Wording("相机做了什么？", ("静止不动", "移动了")),
        ),
        "physical_property_reasoning": AbilityQuestion(
            "size",
            Wording(
                "How many kilograms does the object weigh?",
                ("1", "10", "100"),
                "A small object weighs\t1 kg,\na medium one\t10 kg,\na large one\t100 kg.",
            ),
            Wording("物体重多少公斤？", ("1", "10", "100"), "小物体重1公斤，中等的重10公斤，大的重100公斤。"),
        ),
        "function_reasoning": AbilityQuestion(
            "shape",
            Wording(
                "What is the object good for?",
                ("Rolling", "Stacking", "Pointing", "Decorating"),
                "Circles roll, squares can be stacked, triangles point, and stars decorate.",
            ),
            Wording(
                "这个物体有什么用？",
                ("滚动", "堆放", "指向", "装饰"),
                "圆形能滚动，方形能堆放，三角形能指向，星形能装饰。",
            ),
        ),
        "identity_reasoning": AbilityQuestion(
            "color",
            Wording(
                "Whose sign is the object?",
                ("Firefighter", "Gardener", "Police officer", "Builder", "None"),
                "Red is for firefighters, green for gardeners, blue for police officers, yellow for builders, "
                "and purple for none.",
            ),
            Wording(
                "这个物体是谁的标志？",
                ("消防员", "园丁", "警察", "建筑工人", "无"),
                "红色是消防员，绿色是园丁，蓝色是警察，黄色是建筑工人，紫色不属于任何人。",
            ),
        ),
        "structuralized_imagetext_understanding": AbilityQuestion(
            "shape",
            Wording(
                "Which code draws the object?",
                (
                    'arc(0, 360, "whole")',
                    "for side in range(4):\n\tline()\n\tturn(90)",
                    "for side in range(3):\n\tline()\n\tturn(120)",
                    "for side in range(5):\n\tline()\n\tturn(144)",
                ),
            ),
            Wording(
                "哪段代码画出这个物体？",
                (
                    'arc(0, 360, "whole")',
                    "for side in range(4):\n\tline()\n\tturn(90)",
                    "for side in range(3):\n\tline()\n\tturn(120)",
                    "for side in range(5):\n\tline()\n\tturn(144)",
                ),
            ),
        ),
        "future_prediction": AbilityQuestion(
            "position",
            Wording(
                "Where will the object be after one step?",
                ("Center", "Right", "Left"),
                "At every step the object moves one place to the right; from the right it goes to the left.",
            ),
            Wording("走一步之后，物体会在哪里？", ("中间", "右边", "左边"), "物体每一步向右移一格；从右边会回到左边。"),
        ),
        "social_relation": AbilityQuestion(
            "shape",
            Wording(
                "What is the object to the circle?",
                ("Itself", "Friend", "Child", "N/A"),
                "The square is the circle's friend, the triangle its child; the star is no relation (N/A).",
            ),
            Wording(
                "这个物体是圆形的什么人？",
                ("它自己", "朋友", "孩子", "N/A"),
                "正方形是圆形的朋友，三角形是它的孩子，星形与它无关（N/A）。",
            ),
        ),
        "physical_relation": AbilityQuestion(
            "position",
            Wording(
                "Which edge of the picture is the object nearest to?",
                ("The left edge", "Neither", "The right edge"),
            ),
            Wording("物体离图的哪条边最近？", ("左边缘", "都不近", "右边缘")),
        ),
        "nature_relation": AbilityQuestion(
            "color",
            Wording(
                "What does the object live on?",
                ("Yellow", "Blue", "NA", "Green", "Red"),
                "Red lives on yellow, yellow on green, green on blue, purple on red, and blue on nothing (NA).",
            ),
            Wording(
                "这个物体以什么为生？",
                ("黄色", "蓝色", "NA", "绿色", "红色"),
                "红色以黄色为生，黄色以绿色为生，绿色以蓝色为生，紫色以红色为生，蓝色什么都不吃（NA）。",
            ),
        ),
    }
)
"""The question of every leaf ability, by its name in the release."""
CCBENCH_QUESTIONS: Mapping[str, AbilityQuestion] = MappingProxyType(
    {
        "calligraphy_painting": QUESTIONS["image_style"],
        "cultural_relic": QUESTIONS["image_topic"],
        "food_clothes": QUESTIONS["attribute_recognition"],
        "historical_figure": QUESTIONS["ocr"],
        "scenery_building": QUESTIONS["image_scene"],
        "sketch_reasoning": QUESTIONS["object_localization"],
        "traditional_show": QUESTIONS["image_emotion"],
    }
)
"""CCBench has no hints, so its categories reuse questions that need none."""


def draw_truth(fact: str, scene: Scene, rng: np.random.Generator) -> str:
    """The value of a fact in a scene; drawn from `rng` if `draw_picture` adds the fact."""
    if fact == "digit" or fact in TREATMENTS:
        return str(rng.choice(FACTS[fact]))
    return shown(fact, scene)


def shown(fact: str, scene: Scene) -> str:
    """The value of a fact that is visible in a pristine scene."""
    if fact == "warmth":
        warm = [color in WARM_COLORS for color in (scene.color, scene.background)]
        return "equal" if warm[0] == warm[1] else "object" if warm[0] else "ground"
    return str(getattr(scene, fact))


def draw_picture(fact: str, truth: str, scene: Scene, rng: np.random.Generator) -> Image.Image:
    """The picture of a scene in which a fact has the value `truth`."""
    treatment = TREATMENTS.get(fact, {}).get(truth)
    if treatment is not None:
        return distort(scene.image, *treatment, rng)
    if fact == "digit":
        image = scene.image.copy()
        font = ImageFont.load_default(30)
        ImageDraw.Draw(image).text((8, 24), truth, fill="white", stroke_fill="black", stroke_width=3, font=font)
        return image
    return scene.image
