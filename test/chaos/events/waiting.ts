/** Waiting, for what has no event that could be waited for: other processes and what clients have got. */
import { setTimeout as sleep } from 'node:timers/promises'

export const pause = (ms: number): Promise<void> => sleep(ms)

/** Looks again and again. */
export async function untilTrue(look: () => boolean | Promise<boolean>, every = 20): Promise<void> {
  while (!(await look())) await pause(every)
}
