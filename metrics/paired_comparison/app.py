"""The Space of this metric."""

from eyechart.metrics.space import interface

demo = interface("paired_comparison")

if __name__ == "__main__":
    demo.launch()
