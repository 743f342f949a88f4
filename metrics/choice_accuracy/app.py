"""The Space of this metric."""

from eyechart.metrics.space import interface

demo = interface("choice_accuracy")

if __name__ == "__main__":
    demo.launch()
