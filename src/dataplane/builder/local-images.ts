/** Lists and removes a deployment's images in this machine's engine, built here or pulled to run here. */
import { setTimeout as sleep } from 'node:timers/promises'
import { withTimeout } from '../../platform/async/time-limit.ts'
import { type Engine, runEngine } from '../process/engine/engine.ts'

export const deploymentLabel = (deploymentId: string): string => `pilothouse.deployment=${deploymentId}`

const ENGINE_TIMEOUT_MS = 30_000
/** Longer than an engine needs to write the record of an existing image. */
const MAX_WRITE_MS = 2_000
const HALF_WRITTEN = /^Error: locating item .* for image with ID "([0-9a-f]{64})"/

/** Removes all images except these ids and digests. Images in use by a container stay. */
export async function removeImages(
  engine: Engine,
  deploymentId: string,
  keep: { ids: string[]; digests: string[] },
  signal: AbortSignal,
): Promise<void> {
  const ask = (args: string[]) => withTimeout(ENGINE_TIMEOUT_MS, signal, (inTime) => runEngine(engine, args, inTime))
  const ids = await imagesOf(engine, deploymentId, ask, signal)
  for (const id of ids) {
    if (keep.ids.includes(id)) continue
    const names = 'names {{json .RepoTags}} {{json .RepoDigests}}'
    const namesLine = (await ask(['image', 'inspect', '--format', names, id])).lines.find((line) =>
      line.startsWith('names '),
    )
    if (namesLine === undefined) continue // it was removed with another image
    const found = namesLine.match(/"[^"]+"/g)?.map((name) => name.slice(1, -1)) ?? []
    if (found.some((name) => keep.digests.includes(name.split('@')[1] ?? ''))) continue
    // by name, without --force, which would end containers that use it
    const tags = found.filter((name) => !name.includes('@'))
    if (tags.length > 0) await ask(['rmi', ...tags])
    await ask(['rmi', id])
  }
}

/**
 * Ids of a deployment's images. podman lists none of them while a killed build's half-written image exists: that image is removed
 * first.
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
      throw new Error(`${name} can't list its images: ${lines.at(-1) ?? 'it printed nothing'}`)
    if (!seen.has(half)) {
      // a running build of any deployment has a half-written image for a moment
      seen.add(half)
      await sleep(MAX_WRITE_MS, undefined, { signal })
      continue
    }
    removed.add(half)
    await ask(['rmi', '--force', half])
  }
}

/** Removes the names under which layers were exchanged with the registry's cache: a name keeps its image. */
export async function forgetCacheNames(engine: Engine, repository: string, signal: AbortSignal): Promise<void> {
  const format = ['--format', 'image {{.Repository}}:{{.Tag}}']
  const { lines } = await runEngine(engine, ['images', '--filter', `reference=${repository}`, ...format], signal)
  const names = lines.flatMap((line) => (line.startsWith(`image ${repository}:`) ? [line.slice('image '.length)] : []))
  if (names.length > 0) await runEngine(engine, ['rmi', ...names], signal)
}
