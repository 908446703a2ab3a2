"""What a shell is told to do on Tab after `hybrid-memory`: ask the program, and offer files where it has no answer."""

BASH = r"""# For ~/.bashrc: source <(hybrid-memory completion bash)
_hybrid_memory() {
    local line value
    COMPREPLY=()
    while IFS= read -r line; do
        value=${line%%$'\t'*}
        COMPREPLY+=("$value")
        case $value in
            */) compopt -o nospace ;;
            *[\ \&\;\(\)\<\>\|\'\"\$\`\*\?\[]*) compopt -o filenames ;;
        esac
    done < <("${COMP_WORDS[0]/#\~/$HOME}" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _hybrid_memory hybrid-memory
"""

ZSH = r"""#compdef hybrid-memory
# For ~/.zshrc, after compinit: source <(hybrid-memory completion zsh)
_hybrid_memory() {
    local line answer
    local -a values open shown
    answer=$("${${(Q)words[1]}/#\~/$HOME}" completion zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    [[ -n $answer ]] || { _files; return }
    for line in "${(@f)answer}"; do
        case ${line%%$'\t'*} in
            */) open+=("${line%%$'\t'*}") ;;
            *) values+=("${line%%$'\t'*}"); shown+=("${line/$'\t'/  -- }") ;;
        esac
    done
    compadd -S '' -a open
    compadd -l -d shown -a values
}
if [[ $funcstack[1] == _hybrid_memory ]]; then _hybrid_memory "$@"; else compdef _hybrid_memory hybrid-memory; fi
"""

FISH = r"""# hybrid-memory completion fish > ~/.config/fish/completions/hybrid-memory.fish
function __hybrid_memory_complete
    set -l words (commandline -opc)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -l current (commandline -ct)
    set -l answer ($program completion fish -- $words[2..-1] "$current" 2>/dev/null)
    if test (count $answer) -gt 0
        printf '%s\n' $answer
    else
        __fish_complete_path "$current"
    end
end
complete -c hybrid-memory -f -a '(__hybrid_memory_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
