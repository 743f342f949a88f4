# eyechart with the CPU build of PyTorch:
#     docker build -t eyechart .
#     docker run --rm --user "$(id -u)" -v "$PWD:/work" eyechart run --limit 8
# With CUDA (the wheels bring its libraries; the host needs NVIDIA's container toolkit):
#     docker build -t eyechart:cuda --build-arg TORCH_INDEX=https://pypi.org/simple .
#     docker run --rm --user "$(id -u)" --gpus all -v "$PWD:/work" eyechart:cuda run q_bench --model ORGANISATION/MODEL
ARG BASE=python:3.11-slim
FROM ${BASE}
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY . /eyechart
RUN pip install --no-cache-dir --extra-index-url ${TORCH_INDEX} -c /eyechart/constraints.txt "/eyechart[inspect]"
# Models, data and stored answers; mount a volume to keep them.
ENV HF_HOME=/cache/huggingface EYECHART_HOME=/cache/eyechart HOME=/cache USER=user
# Any user may write there: `docker run --user` is to write results as the host's user.
RUN useradd --create-home user && mkdir -p /cache /work && chmod 1777 /cache /work
USER user
WORKDIR /work
ENTRYPOINT ["eyechart"]
