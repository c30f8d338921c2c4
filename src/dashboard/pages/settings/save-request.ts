/** Builds the request that saves staged changes, and predicts its effect. */
import { type Effect, findField } from './fields.ts'
import { currentValue, type StagedChanges, storedValue, withoutNulls } from './staged-changes.ts'
import type { StoredSettings } from './stored-settings.ts'

const SPEC = 'sourceConfig.resourceSpec.'
/** The server shows this for a secret value. Sent back, it keeps the stored value. */
const MASKED_VALUE = '••••••••'

export interface SaveRequest {
  /** input of updateDeployment without id and version; null: not needed */
  update: Record<string, unknown> | null
  /** input of setSecrets without id and version; null if `update` carries the secrets, so that one revision is created */
  secrets: { set: { name: string; value: string }[]; unset: string[] } | null
  tags: { key: string; value: string }[] | null
}

export function buildSaveRequest(settings: StoredSettings, staged: StagedChanges): SaveRequest {
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
  const resourceSpec = editedResourceSpec(settings, staged)
  if (resourceSpec) update.sourceConfig = { ...(update.sourceConfig as object | undefined), resourceSpec }
  if (secrets.size > 0) update.secrets = completeSecrets(settings, staged)
  return { update, secrets: null, tags }
}

/** The complete spec, because a sent spec replaces the stored one. Null: no resource was edited. */
export function editedResourceSpec(settings: StoredSettings, { edits }: StagedChanges): Record<string, unknown> | null {
  const edited = [...edits].filter(([path]) => path.startsWith(SPEC))
  if (edited.length === 0) return null
  const spec: Record<string, unknown> = { ...(withoutNulls(settings.sourceConfig.resourceSpec) as object | null) }
  for (const [path, { value }] of edited) {
    const name = path.slice(SPEC.length)
    if (value === null) delete spec[name]
    else spec[name] = value
  }
  return spec
}

/** All secrets. Unchanged ones are sent masked and keep their values. The version check catches concurrent edits. */
function completeSecrets(settings: StoredSettings, { secrets }: StagedChanges) {
  const names = new Set([...settings.secrets.map(({ name }) => name), ...secrets.keys()])
  return [...names].flatMap((name) => {
    const edit = secrets.get(name)
    if (edit?.value === null) return []
    return [{ name, value: edit?.value ?? MASKED_VALUE }]
  })
}

export interface SaveEffects {
  /** how the new revision starts (`keeps`: with the current build); null: no revision */
  revision: 'builds' | 'deploys' | 'keeps' | null
  effects: ReadonlySet<Effect>
}

/** A changed source is built, and so are commands saved together with secrets. Secrets alone reuse the current build. */
export function saveEffects(
  { edits, secrets }: StagedChanges,
  { source }: Pick<StoredSettings, 'source'>,
): SaveEffects {
  const effects = new Set([...edits.keys()].flatMap((path) => findField(path)?.effect ?? []))
  const isBuilt = source === 'gitprovider' || source === 'internal_source'
  if (effects.has('builds')) return { revision: 'builds', effects }
  if (effects.has('deploys')) return { revision: 'deploys', effects }
  if (secrets.size === 0) return { revision: null, effects }
  return { revision: effects.has('nextBuild') && isBuilt ? 'builds' : 'keeps', effects }
}

export interface FieldChange {
  path: string
  before: unknown
  after: unknown
}

export const changedFields = (settings: StoredSettings, staged: StagedChanges): FieldChange[] =>
  [...staged.edits.keys()].map((path) => ({
    path,
    before: storedValue(settings, path),
    after: currentValue(settings, staged, path),
  }))
