/** Removes unused program copies from DATA_DIR. Marks our own as used. */
import { type Jobs, startJobs } from '../platform/async/jobs.ts'
import type { Config } from '../platform/config/config.ts'
import type { Log } from '../platform/log/log.ts'
import { placePrograms } from '../platform/postgres/embedded/account.ts'
import type { Embedded } from '../platform/postgres/embedded/embedded.ts'
import { markInUse, removeUnusedCopies } from '../platform/programs/programs.ts'

const INTERVAL_SECONDS = 3600

/** `embedded` null: another database is used. Returns null when no program runs from a copy. */
export function startCopyRemoval(config: Config, embedded: Embedded | null, log: Log): Jobs | null {
  if (!embedded && !(config.WORKER && config.RUNTIME === 'process')) return null
  async function round(): Promise<void> {
    if (embedded) await markInUse(embedded.programs)
    const removed = await removeUnusedCopies(placePrograms(config.DATA_DIR))
    if (removed.length > 0) log.info({ removed }, 'unused copies of programs were removed')
  }
  return startJobs(log, [{ name: 'removal of programs', intervalSeconds: INTERVAL_SECONDS, round }])
}
