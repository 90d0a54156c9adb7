# Sourced by oracle.sh and bench.sh: virtual environments and the BLAS library.

# venv DIR REQUIREMENTS: DIR holds a virtual environment with what REQUIREMENTS lists. Nothing is done when DIR was
# made from the same text; then no network is needed.
venv() {
    _stamp=$1/.requirements
    if [ -f "$_stamp" ] && cmp -s "$_stamp" "$2" && [ -x "$1/bin/python" ]; then return 0; fi
    _python=${PYTHON:-python3}
    if ! "$_python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        echo "needs Python 3.10 or later (Debian: apt install python3 python3-venv; macOS: brew install python;" \
            "or PYTHON=/path/to/python), found: $("$_python" --version 2>&1 || echo none)" >&2
        return 1
    fi
    if ! "$_python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "needs Python's venv module (Debian: apt install python3-venv)" >&2
        return 1
    fi
    echo "making ${1##*/} from ${2##*/}" >&2
    rm -rf "$1"
    "$_python" -m venv "$1" &&
        "$1/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check -r "$2" >&2 &&
        cp "$2" "$_stamp"
}

# openblas_library prints the path of the OpenBLAS shared library that a program linked with -lopenblas loads, or
# nothing where there is none or the system cannot preload it. OPENBLAS_LIBRARY=FILE names one; OPENBLAS_LIBRARY=none
# asks for none.
openblas_library() {
    case ${OPENBLAS_LIBRARY:-} in
    none) return 0 ;;
    ?*) echo "$OPENBLAS_LIBRARY"; return 0 ;;
    esac
    [ "$(uname -s)" = Linux ] || return 0
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | sed -n 's/.*libopenblas\.so\.0 .*=> //p' | head -n 1
}
