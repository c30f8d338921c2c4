/** Finds the line of a build tool's output that names the cause of a failure. */
import type { Masked } from './mask.ts'

const MAX_CAUSE_CHARACTERS = 300

/** BuildKit's prefix of a step's lines: `#8 1.234 `. */
const STEP_PREFIX = /^#\d+ (\d+\.\d+ )?/

/** Lines that name a cause. npm's codes, paths and commands are excluded: they don't say what failed. */
const CAUSE_PATTERNS = [
  /^npm (error|ERR!) (?!code |errno |syscall |path |command |signal |A complete log|Lifecycle script|\s*at |.*(node_modules|_logs)\/)\S/,
  // pip prints this after `Could not find a version …`, with the same requirement in short form
  /^ERROR: (?!Could not find a version|Exception:|failed to (solve|build))\S/,
  /^\s*(× )?No solution found|^\s*(╰─▶|└─▶) Because /,
  // uv, cargo, yarn 1, gcc; `Error: ` is Node's and Python's
  /^error(\[\w+\])?:? (?!Command failed)\S/,
  /^\s*ERR_PNPM_\w+/,
  /^➤ YN\d{4}:.*(not found|can't|cannot|doesn't|error)/i,
  // tsc, with and without --pretty
  /: error TS\d+: |\berror TS\d+: /,
  // podman repeats the instruction after the step's own output
  /^\s*(?!Error: building )(\w+\.)*\w*(Error|Exception)( \[\w+\])?: \S/,
  /^(fatal|E): \S/,
  /: (command not found|not found)$/,
]

export class FailureCause {
  #line: string | null = null

  /** Lines are masked, so no secret gets into a message. */
  add(shown: Masked): void {
    if (this.#line !== null) return
    const line = shown.replace(STEP_PREFIX, '')
    if (CAUSE_PATTERNS.some((pattern) => pattern.test(line))) this.#line = line.trim().slice(0, MAX_CAUSE_CHARACTERS)
  }

  prependTo(message: string): string {
    return this.#line === null ? message : `${this.#line}\n${message}`
  }
}
