/** What people read when an agent has reached one of its bounds. */
import type { Reason } from '../../../../../domain/protocol/protocol.ts'

export interface Exceeded {
  reason: Reason
  /** for people: which bound, how large, and what to do */
  message: string
}

const amount = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: 1 })
const megabytes = (mb: number) => `${amount(mb)} MB`

const MORE_MEMORY = 'Give it a larger memory_limit_mb in resource_spec, or let it use less.'

/** `whole`: all of it was ended; else one of its processes was. */
export const outOfMemory = (mb: number, whole: boolean): Exceeded => ({
  reason: 'OUT_OF_MEMORY',
  message: `${whole ? 'The agent' : 'A process of the agent'} was ended because the agent used more memory than its ${megabytes(mb)}. ${MORE_MEMORY}`,
})

/** V8 has a bound of its own below that of the process. */
export const outOfHeap = (mb: number | null): Exceeded => ({
  reason: 'OUT_OF_MEMORY',
  message: `The agent ended because Node.js had used up its heap${mb === null ? '' : `, about half of the agent’s ${megabytes(mb)}`}. ${MORE_MEMORY}`,
})

export const machineOutOfMemory = (): Exceeded => ({
  reason: 'OUT_OF_MEMORY',
  message:
    'The machine had no memory left, and a process of the agent was ended, although it was within its own bound. The operator has to give the agents of this machine smaller bounds, or the machine more memory.',
})

/** `ended`: because it went on trying. */
export const tooManyProcesses = (processes: number, ended: boolean): Exceeded => ({
  reason: 'PROCESS_LIMIT',
  message: ended
    ? `The agent was ended because it kept starting processes beyond the ${amount(processes)} processes and threads that it may have (APP_PIDS).`
    : `The agent has as many processes and threads as it may have, ${amount(processes)} (APP_PIDS): more could not be started.`,
})

export const fileTooLarge = (mb: number): Exceeded => ({
  reason: 'FILE_LIMIT',
  message: `A file of the agent has reached the ${megabytes(mb)} that one file may have (APP_FILE_MB): it could not write on.`,
})

export const tooMuchOnDisk = (mb: number, usedBytes: number): Exceeded => ({
  reason: 'DISK_LIMIT',
  message: `The agent was ended because its folders hold ${megabytes(Math.ceil(usedBytes / 1e6))}, more than their ${megabytes(mb)} (APP_DISK_MB). What is in its HOME stays there: let the agent remove it when it starts, or let the operator raise the bound.`,
})
