/** Images of a deployment in the engine of this machine: those that were built here, and those that were pulled to run here. */
import { setTimeout as sleep } from 'node:timers/promises'
import { limited } from '../../platform/async/time-limit.ts'
import { type Engine, runEngine } from '../runtimes/process/engine/engine.ts'

/** The label by which all images of a deployment are found. */
export const deploymentLabel = (deploymentId: string): string => `pilothouse.deployment=${deploymentId}`

const ENGINE_TIMEOUT_MS = 30_000
/** Longer than an engine takes to write down an image that is there. */
const MAX_WRITE_MS = 2_000
const HALF_WRITTEN = /^Error: locating item .* for image with ID "([0-9a-f]{64})"/

/** Removes all but those with these ids, or pushed or pulled under these digests. What a container uses stays. */
export async function removeImages(
  engine: Engine,
  deploymentId: string,
  keep: { ids: string[]; digests: string[] },
  signal: AbortSignal,
): Promise<void> {
  const ask = (args: string[]) => limited(ENGINE_TIMEOUT_MS, signal, (inTime) => runEngine(engine, args, inTime))
  const ids = await imagesOf(engine, deploymentId, ask, signal)
  for (const id of ids) {
    if (keep.ids.includes(id)) continue
    const names = 'names {{json .RepoTags}} {{json .RepoDigests}}'
    const said = (await ask(['image', 'inspect', '--format', names, id])).lines.find((line) =>
      line.startsWith('names '),
    )
    if (said === undefined) continue // it went with another one
    const found = said.match(/"[^"]+"/g)?.map((name) => name.slice(1, -1)) ?? []
    if (found.some((name) => keep.digests.includes(name.split('@')[1] ?? ''))) continue
    // by its names and not by force, which would end containers with it
    const tags = found.filter((name) => !name.includes('@'))
    if (tags.length > 0) await ask(['rmi', ...tags])
    await ask(['rmi', id])
  }
}

/**
 * Ids of the images of a deployment. podman lists none of them while there is one that a killed build has left half written:
 * that one is removed.
 */
async function imagesOf(
  { name }: Engine,
  deploymentId: string,
  ask: (args: string[]) => Promise<{ ok: boolean; lines: string[] }>,
  signal: AbortSignal,
): Promise<Set<string>> {
  const labelled = ['--no-trunc', '--filter', `label=${deploymentLabel(deploymentId)}`, '--format', 'image {{.ID}}']
  const [seen, removed] = [new Set<string>(), new Set<string>()]
  for (;;) {
    const { ok, lines } = await ask(['images', ...labelled])
    if (ok) return new Set(lines.flatMap((line) => /^image (?:sha256:)?([0-9a-f]{64})$/.exec(line)?.[1] ?? []))
    const half = lines.map((line) => HALF_WRITTEN.exec(line)?.[1]).find(Boolean)
    if (!half || removed.has(half))
      throw new Error(`${name} does not list its images: ${lines.at(-1) ?? 'it says nothing'}`)
    if (!seen.has(half)) {
      // of whichever deployment: a build that is under way has one for a moment
      seen.add(half)
      await sleep(MAX_WRITE_MS, undefined, { signal })
      continue
    }
    removed.add(half)
    await ask(['rmi', '--force', half])
  }
}

/** Lets go of the names by which layers came from, or went to, the cache in the registry: they stay for as long as their image. */
export async function forgetCacheNames(engine: Engine, repository: string, signal: AbortSignal): Promise<void> {
  const format = ['--format', 'image {{.Repository}}:{{.Tag}}']
  const { lines } = await runEngine(engine, ['images', '--filter', `reference=${repository}`, ...format], signal)
  const names = lines.flatMap((line) => (line.startsWith(`image ${repository}:`) ? [line.slice('image '.length)] : []))
  if (names.length > 0) await runEngine(engine, ['rmi', ...names], signal)
}
