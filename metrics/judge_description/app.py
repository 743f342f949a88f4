"""The Space of this metric."""

from eyechart.metrics.space import interface

demo = interface("judge_description")

if __name__ == "__main__":
    demo.launch()
