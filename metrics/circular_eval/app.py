"""The Space of this metric."""

from eyechart.metrics.space import interface

demo = interface("circular_eval")

if __name__ == "__main__":
    demo.launch()
