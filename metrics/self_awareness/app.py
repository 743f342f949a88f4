"""The Space of this metric."""

from eyechart.metrics.space import interface

demo = interface("self_awareness")

if __name__ == "__main__":
    demo.launch()
