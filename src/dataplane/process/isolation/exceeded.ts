/** Messages for users when an agent has reached one of its limits. */
import type { Reason } from '../../../domain/protocol/protocol.ts'

export interface Exceeded {
  reason: Reason
  /** for users: which limit, its size, and what to do */
  message: string
}

const amount = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: 1 })
const megabytes = (mb: number) => `${amount(mb)} MB`

const MORE_MEMORY = 'Give it a larger memory_limit_mb in resource_spec, or let it use less.'

/** `whole`: the agent was ended; else one of its processes. */
export const outOfMemory = (mb: number, whole: boolean): Exceeded => ({
  reason: 'OUT_OF_MEMORY',
  message: `${whole ? 'The agent' : 'A process of the agent'} was ended because the agent used more memory than its limit of ${megabytes(mb)}. ${MORE_MEMORY}`,
})

/** V8 limits its heap below the limit of the process. */
export const outOfHeap = (mb: number | null): Exceeded => ({
  reason: 'OUT_OF_MEMORY',
  message: `The agent ended because Node.js had used up its heap${mb === null ? '' : `, about half of the agent’s limit of ${megabytes(mb)}`}. ${MORE_MEMORY}`,
})

export const machineOutOfMemory = (): Exceeded => ({
  reason: 'OUT_OF_MEMORY',
  message:
    'A process of the agent was ended because the machine had no memory left. The agent was within its own limit. The operator should lower the limits of agents, or give the machine more memory.',
})

/** `ended`: the agent was ended because it kept trying. */
export const tooManyProcesses = (processes: number, ended: boolean): Exceeded => ({
  reason: 'PROCESS_LIMIT',
  message: ended
    ? `The agent was ended because it kept starting processes above its limit of ${amount(processes)} processes and threads (APP_PIDS).`
    : `The agent could not start a process because it has reached its limit of ${amount(processes)} processes and threads (APP_PIDS).`,
})

export const fileTooLarge = (mb: number): Exceeded => ({
  reason: 'FILE_LIMIT',
  message: `The agent could not write to a file because the file has reached the limit of ${megabytes(mb)} (APP_FILE_MB).`,
})

export const tooMuchOnDisk = (mb: number, usedBytes: number): Exceeded => ({
  reason: 'DISK_LIMIT',
  message: `The agent was ended because its folders hold ${megabytes(Math.ceil(usedBytes / 1e6))}, more than the limit of ${megabytes(mb)} (APP_DISK_MB). Files in its HOME stay: let the agent remove some when it starts, or let the operator raise the limit.`,
})
