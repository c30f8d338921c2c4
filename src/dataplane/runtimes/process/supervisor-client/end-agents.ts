/**
 * Ends agents that no claim is about: all of a DATA_DIR, when people say so, and those whose deployments are gone. Speaks
 * only what every supervisor understands (`hello`, `end`).
 */
import fs from 'node:fs'
import { removeTrees } from '../processes/untrusted-trees.ts'
import { PROTOCOL } from '../supervisor/protocol.ts'
import { Connection, StaleToken, SupervisorUnavailable } from './connection.ts'
import { knownSupervisors, readSecret, type SupervisorFiles, type SupervisorInfo } from './supervisor-files.ts'

/** ms that a supervisor has to end all it has, after requests in flight had theirs */
const END_TIMEOUT_MS = 30_000
/** ms that the newest token of a deployment is remembered when that is gone */
const FENCE_RETENTION_MS = 24 * 3_600_000

/** Ends every agent of the DATA_DIR, as its newest holder would. Returns whose they were. */
export async function endAgents(dataDir: string, drainMs: number): Promise<Ended[]> {
  const known = knownSupervisors(dataDir).map(({ about }) => about)
  return (await Promise.all(known.map((about) => end(dataDir, about, drainMs, 0n)))).flatMap((ended) => ended ?? [])
}

/**
 * Ends the agents of those deployments of this installation that `gone` says are there no more, now and for ever. Their
 * last holder may not have learnt of that, and must not start them again: so it is done above all tokens that were seen.
 */
export async function endOrphans(
  dataDir: string,
  installation: string,
  findDeleted: (deploymentIds: string[]) => Promise<string[]>,
): Promise<Ended[]> {
  const known = knownSupervisors(dataDir).filter(({ about }) => about.installation === installation)
  if (known.length === 0) return []
  const orphans = new Set(await findDeleted(known.map(({ about }) => about.deploymentId)))
  const orphaned = known.filter(({ about }) => orphans.has(about.deploymentId))
  const ended = await Promise.all(
    orphaned.map(async ({ about, files }) => {
      const result = await end(dataDir, about, 0, 1n)
      if (!result && isFenceExpired(files)) await removeTrees(files.folder)
      return result
    }),
  )
  return ended.flatMap((one) => one ?? [])
}

/** Of one that does not live: for so long that no server can still hold an older token, and start it again. */
function isFenceExpired({ folder, fence }: SupervisorFiles): boolean {
  const touched = [folder, fence].map((file) => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  return Date.now() - Math.max(...touched) > FENCE_RETENTION_MS
}

export interface Ended {
  deploymentId: string
  /** of its supervisor */
  pid: number
  /** null: nothing is left of it */
  problem: string | null
}

/** With a token that is so much `above` the newest that was seen. Null: there is none. */
async function end(dataDir: string, about: SupervisorInfo, drainMs: number, increment: bigint): Promise<Ended | null> {
  const { deploymentId, socket, installation } = about
  const secret = readSecret(dataDir)
  if (secret === null) return null
  let pid = 0
  try {
    for (let token = '0'; ; ) {
      try {
        const connection = await Connection.open(socket, {
          protocol: PROTOCOL,
          secret,
          installation,
          deploymentId,
          token,
        })
        pid = connection.welcome.pid
        await connection.request({ verb: 'end', drainMs }, { ms: drainMs + END_TIMEOUT_MS })
        connection.close()
        return { deploymentId, pid, problem: null }
      } catch (error) {
        if (!(error instanceof StaleToken)) throw error
        token = String(BigInt(error.newest) + increment)
      }
    }
  } catch (error) {
    if (error instanceof SupervisorUnavailable && pid === 0) return null
    return { deploymentId, pid, problem: (error as Error).message }
  }
}
