"""The Space of this metric."""

from eyechart.metrics.space import interface

demo = interface("softmax_iqa", ("logits", "scores"))

if __name__ == "__main__":
    demo.launch()
