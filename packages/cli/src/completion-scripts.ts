/**
 * The scripts for bash and zsh. They hand the words of the line on as arguments and never have the shell read them again: what
 * stands on a line that nobody has sent yet, such as a pasted `$(...)`, must not run because somebody presses Tab. For the
 * same reason what comes back is compared as text, and never given to `compgen -W`, which expands it.
 *
 * The program answers a line for each word, `word<tab>description`, and at last `:<number>`, which nothing here needs.
 */

/** For bash 3.2 (macOS) and newer, with or without the package bash-completion. */
export const BASH_SCRIPT = String.raw`# bash completion for breakwater
__breakwater_complete() {
    # Bash breaks words at "=" and ":" too. Those that nothing separates on the line are one word to the program.
    local rest=${'$'}{COMP_LINE:0:COMP_POINT} count=0 index word trimmed
    local -a typed
    for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${'$'}{COMP_WORDS[index]}
        trimmed=${'$'}{rest#"${'$'}{rest%%[![:space:]]*}"}
        # What stands behind the cursor is not part of the question.
        if ((${'$'}{#trimmed} < ${'$'}{#word})); then word=$trimmed; fi
        if ((count > 0)) && [[ $trimmed == "$rest" ]]; then
            typed[count - 1]+=$word
        else
            typed[count]=$word
            count=$((count + 1))
        fi
        rest=${'$'}{trimmed#"$word"}
    done

    local current=${'$'}{typed[count - 1]} line offered
    # What bash itself takes for the word: of "--status=d" it replaces "d" alone.
    local own=$current
    if [[ $current == -*=* && $COMP_WORDBREAKS == *=* ]]; then own=${'$'}{current#*=}; fi
    COMPREPLY=()
    while IFS= read -r line; do
        offered=${'$'}{line%%$'\t'*}
        if [[ -n $offered && $offered != :* && $offered == "$own"* ]]; then COMPREPLY+=("$offered"); fi
    done < <(breakwater complete -- "${'$'}{typed[@]:1}" 2>/dev/null)
}
complete -F __breakwater_complete breakwater
`;

/** For zsh 5 behind compinit. */
export const ZSH_SCRIPT = String.raw`#compdef breakwater
# zsh completion for breakwater
_breakwater() {
    local line offered
    local -a known
    # What stands behind the cursor is not part of the question.
    local -a typed=("${'$'}{(@)words[2,CURRENT-1]}" "$PREFIX")
    while IFS= read -r line; do
        offered=${'$'}{line%%$'\t'*}
        if [[ -n $offered && $offered != :* ]]; then known+=("${'$'}{offered//:/\\:}:${'$'}{line#*$'\t'}"); fi
    done < <(breakwater complete -- "${'$'}{typed[@]}" 2>/dev/null)
    # Of "--status=d" the program completes "d" alone.
    if [[ $PREFIX == -*=* ]]; then compset -P '*='; fi
    _describe breakwater known
}
compdef _breakwater breakwater
`;
