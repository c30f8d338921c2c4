/** Polling for conditions without an event: other processes, and what clients have received. */
import { setTimeout as sleep } from 'node:timers/promises'

export const pause = (ms: number): Promise<void> => sleep(ms)

/** Polls until the condition holds. */
export async function untilTrue(look: () => boolean | Promise<boolean>, every = 20): Promise<void> {
  while (!(await look())) await pause(every)
}
