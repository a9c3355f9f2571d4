# complete.zsh FILE WORD... - what the completion in FILE offers for the last WORD, a line each:
# zsh's own functions are replaced by ones that print
file=$1
shift
_describe() { local name=${@[-1]}; local -a offered; offered=("${(@P)name}"); print -rl -- "${(@)offered%%:*}" }
compadd() { print -rl -- "$@" }
_files() { print files }
words=("$@")
CURRENT=$#
PREFIX=$words[CURRENT]
. $file
