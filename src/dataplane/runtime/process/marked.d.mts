export const MARK: string
export function markedProcesses(marks: ReadonlySet<string>): number[]
export function signalProcesses(pids: readonly number[], signal: NodeJS.Signals): void
