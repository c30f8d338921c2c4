/** What saving will send, and what comes of it. Pure. */
import { type Effect, fieldAt } from './fields.ts'
import { plain, type Staged, shownAt, storedAt } from './staged.ts'
import type { Stored } from './stored.ts'

const SPEC = 'sourceConfig.resourceSpec.'
/** What the server shows of a value, and keeps where it is sent back. */
const KEPT = '••••••••'

/** Of what is staged. */
export interface Plan {
  /** for updateDeployment, without id and version; null: not needed */
  update: Record<string, unknown> | null
  /** for setSecrets, likewise; with an update they are in that, so that there is one revision */
  secrets: { set: { name: string; value: string }[]; unset: string[] } | null
  tags: { key: string; value: string }[] | null
}

export function planOf(settings: Stored, staged: Staged): Plan {
  const { edits, secrets } = staged
  const paths = [...edits.keys()].filter((path) => path !== 'tags')
  const set = [...secrets].flatMap(([name, { value }]) => (value === null ? [] : [{ name, value }]))
  const unset = [...secrets].flatMap(([name, { value }]) => (value === null ? [name] : []))
  const tags = edits.has('tags') ? (edits.get('tags')!.value as { key: string; value: string }[]) : null
  if (paths.length === 0) return { update: null, secrets: secrets.size > 0 ? { set, unset } : null, tags }
  const update: Record<string, unknown> = {}
  for (const path of paths) {
    if (path.startsWith(SPEC)) continue
    const [part, name] = path.split('.') as [string, string | undefined]
    const value = edits.get(path)!.value
    if (name === undefined) update[part] = value ?? []
    else update[part] = { ...(update[part] as object | undefined), [name]: value }
  }
  const resourceSpec = resourcesAfter(settings, staged)
  if (resourceSpec) update.sourceConfig = { ...(update.sourceConfig as object | undefined), resourceSpec }
  if (secrets.size > 0) update.secrets = allSecrets(settings, staged)
  return { update, secrets: null, tags }
}

/** The whole spec, since one that is sent replaces the stored one; null: nothing of it was edited. */
export function resourcesAfter(settings: Stored, { edits }: Staged): Record<string, unknown> | null {
  const edited = [...edits].filter(([path]) => path.startsWith(SPEC))
  if (edited.length === 0) return null
  const spec: Record<string, unknown> = { ...(plain(settings.sourceConfig.resourceSpec) as object | null) }
  for (const [path, { value }] of edited) {
    const name = path.slice(SPEC.length)
    if (value === null) delete spec[name]
    else spec[name] = value
  }
  return spec
}

/** Every name: those that stay keep their values, which nobody has to know for that. The version guards against what others set meanwhile. */
function allSecrets(settings: Stored, { secrets }: Staged) {
  const names = new Set([...settings.secrets.map(({ name }) => name), ...secrets.keys()])
  return [...names].flatMap((name) => {
    const edit = secrets.get(name)
    if (edit?.value === null) return []
    return [{ name, value: edit?.value ?? KEPT }]
  })
}

export interface Consequences {
  /** of the revision that is made; null: none is */
  revision: 'builds' | 'deploys' | 'keeps' | null
  effects: ReadonlySet<Effect>
}

/** What saving does. A source or a command beside new secrets is built; secrets alone keep what runs. */
export function consequencesOf({ edits, secrets }: Staged, { source }: Pick<Stored, 'source'>): Consequences {
  const effects = new Set([...edits.keys()].flatMap((path) => fieldAt(path)?.effect ?? []))
  const isBuilt = source === 'gitprovider' || source === 'internal_source'
  if (effects.has('builds')) return { revision: 'builds', effects }
  if (effects.has('deploys')) return { revision: 'deploys', effects }
  if (secrets.size === 0) return { revision: null, effects }
  return { revision: effects.has('nextBuild') && isBuilt ? 'builds' : 'keeps', effects }
}

export interface Change {
  path: string
  before: unknown
  after: unknown
}

/** What is staged, field by field, against what is stored now. */
export const changesOf = (settings: Stored, staged: Staged): Change[] =>
  [...staged.edits.keys()].map((path) => ({
    path,
    before: storedAt(settings, path),
    after: shownAt(settings, staged, path),
  }))
