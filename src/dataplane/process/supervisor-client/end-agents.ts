/**
 * Ends agents without a claim: all of a DATA_DIR on request, or those of deleted deployments. Sends only `hello` and
 * `end`, which every supervisor understands.
 */
import fs from 'node:fs'
import { resultWithin } from '../../../platform/async/time-limit.ts'
import { connectToDoor } from '../door/door-connection.ts'
import { removeTrees } from '../isolation/untrusted-trees.ts'
import { doorFolder } from '../machine/programs.ts'
import { PROTOCOL } from '../supervisor/protocol.ts'
import { endSupervisor, openConnection, StaleToken, SupervisorUnavailable } from './connection.ts'
import { knownSupervisors, readSecret, type SupervisorFiles, type SupervisorInfo } from './supervisor-files.ts'

/** A door that does not answer within this time is stuck. */
const DOOR_MS = 5000
/** the newest token of a deleted deployment is kept this long */
const FENCE_RETENTION_MS = 24 * 3_600_000

/** Ends all agents of the DATA_DIR, with the newest token of each deployment. Addresses of sleeping agents close. */
export async function endAgents(dataDir: string, drainMs: number): Promise<Ended[]> {
  const known = knownSupervisors(dataDir).map(({ about }) => about)
  const door = known.length > 0 ? await connectToDoor(doorFolder(dataDir)) : null
  if (door) await resultWithin(DOOR_MS, door.request({ do: 'forget', deployment: null }))
  door?.close()
  return (await Promise.all(known.map((about) => end(dataDir, about, drainMs, 0n)))).flatMap((ended) => ended ?? [])
}

/**
 * Ends the agents of deleted deployments; `findDeleted` returns their ids. Uses a token above all seen: a lease holder
 * that does not know of the deletion can't start the agent again.
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

/** Whether the supervisor was unused so long that no server can have an older token and start it again. */
function isFenceExpired({ folder, fence }: SupervisorFiles): boolean {
  const touched = [folder, fence].map((file) => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  return Date.now() - Math.max(...touched) > FENCE_RETENTION_MS
}

export interface Ended {
  deploymentId: string
  /** of its supervisor */
  pid: number
  /** null: all processes have ended */
  problem: string | null
}

/** Uses the newest token plus `increment`. Null: no supervisor runs. */
async function end(dataDir: string, about: SupervisorInfo, drainMs: number, increment: bigint): Promise<Ended | null> {
  const { deploymentId, socket, installation } = about
  const secret = readSecret(dataDir)
  if (secret === null) return null
  let pid = 0
  try {
    for (let token = '0'; ; ) {
      try {
        const connection = await openConnection(socket, {
          protocol: PROTOCOL,
          secret,
          installation,
          deploymentId,
          token,
        })
        pid = connection.welcome.pid
        await endSupervisor(connection, drainMs)
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
