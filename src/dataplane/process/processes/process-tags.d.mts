/** Types of process-tags.mjs. */
export const TAG_VARIABLE: string
export const SUPERVISOR_VARIABLE: string
export function taggedProcesses(tags: ReadonlySet<string>, variable?: string): number[]
export function signalProcesses(pids: readonly number[], signal: NodeJS.Signals): void
