/**
 * Writes most of the events: runs revisions repeatedly in this process, on the servers' database, with the domain's
 * own transactions and `transition()`. Each commit contains one to five complete lives, so no worker finds an open
 * step.
 */
import path from 'node:path'
import { pino } from 'pino'
import { createCore, type Opened } from '../../../src/app/core.ts'
import { nextRollout } from '../../../src/domain/repositories/deployment.ts'
import type { LockedDeployment } from '../../../src/domain/repositories/locks.ts'
import { lockById } from '../../../src/domain/repositories/locks.ts'
import { transition } from '../../../src/domain/revisions/transition.ts'
import { transaction } from '../../../src/domain/transaction/context.ts'
import { readConfig } from '../../../src/platform/config/config.ts'
import { type Place, SECRETS_KEYS } from './place.ts'
import type { Random } from './random.ts'
import { pause } from './waiting.ts'

/** The statuses of a revision in one commit. */
const LIVES = [
  ['QUEUED', 'AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOYED'],
  ['QUEUED', 'AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOY_FAILED'],
  ['QUEUED', 'SKIPPED'],
  ['QUEUED', 'AWAITING_DEPLOY', 'INTERRUPTED'],
] as const
const MOST_LIVES = 5

export interface Movers {
  stop(): Promise<void>
}

/** `ahead`: whether enough is written for now. The revisions must have ended. */
export async function startMovers(
  place: Place,
  moved: readonly { id: string; revisionId: string }[],
  random: Random,
  ahead: () => boolean,
): Promise<Movers> {
  const config = readConfig({
    DATABASE_URL: place.databaseUrl,
    DATA_DIR: path.join(place.dataDir, 'mover'),
    SECRETS_KEYS,
  })
  const { core, close }: Opened = await createCore(config, pino({ level: 'silent' }))
  let stopped = false

  const life = (id: string, revisionId: string) =>
    transaction(
      core,
      async (tx) => {
        let deployment: LockedDeployment = (await lockById(tx, id))!
        let revision = await tx.sql.revision.findUniqueOrThrow({ where: { id: revisionId } })
        for (let lives = 1 + random.below(MOST_LIVES); lives > 0; lives--) {
          deployment = await nextRollout(
            tx,
            deployment,
            { what: 'UPDATED', actor: { kind: 'system', id: null, name: null } },
            null,
          )
          for (const to of random.one(LIVES)) {
            const again = to === 'QUEUED' && { rollout: deployment.rollout }
            revision = await transition(tx, deployment.workspaceId, revision, { to, ...again })
          }
        }
      },
      { deployment: id },
    )

  async function move({ id, revisionId }: { id: string; revisionId: string }): Promise<void> {
    while (!stopped) {
      if (ahead()) await pause(10)
      // the database is unavailable; the log tells whether the commit succeeded
      else await life(id, revisionId).catch(() => pause(50))
    }
  }

  const running = moved.map(move)
  return {
    async stop() {
      stopped = true
      await Promise.all(running)
      await close()
    },
  }
}
