/** Builds the request that saves the edits, and predicts its effect. */
import { type Edits, type StoredSettings, secretName } from './edits.ts'
import { type Effect, type Field, findField, SPEC_PATH } from './fields.ts'
import { type Input, parseInput, storedValue, type Value } from './inputs.ts'

/** The server shows this for a secret value. Sent back, it keeps the stored value. */
const MASKED_VALUE = '••••••••'

export interface SaveRequest {
  /** input of updateDeployment without id and version; null: not needed */
  update: Record<string, unknown> | null
  /** input of setSecrets without id and version; null if `update` carries the secrets, so that one revision is created */
  secrets: { set: { name: string; value: string }[]; unset: string[] } | null
  tags: { key: string; value: string }[] | null
}

interface SecretEdit {
  name: string
  /** null: removed */
  value: string | null
}

const secretEdits = (edits: Edits): SecretEdit[] =>
  Object.entries(edits).flatMap(([key, { value }]) => {
    const name = secretName(key)
    return name === null ? [] : [{ name, value: value as string | null }]
  })

const editedFields = (edits: Edits): [Field, Value][] =>
  Object.entries(edits).flatMap(([name, { value }]) => {
    const field = findField(name)
    return field ? [[field, sentValue(field, value!)]] : []
  })

function sentValue(field: Field, input: Input): Value {
  const { value = null } = parseInput(field, input)
  return value ?? field.empty ?? null
}

export function buildSaveRequest(settings: StoredSettings, edits: Edits): SaveRequest {
  const tags = (edits.tags?.value ?? null) as SaveRequest['tags']
  const changed = secretEdits(edits)
  const fields = editedFields(edits).filter(([{ name }]) => name !== 'tags')
  if (fields.length === 0) {
    const set = changed.flatMap(({ name, value }) => (value === null ? [] : [{ name, value }]))
    const unset = changed.flatMap(({ name, value }) => (value === null ? [name] : []))
    return { update: null, secrets: changed.length > 0 ? { set, unset } : null, tags }
  }
  const update: Record<string, unknown> = {}
  for (const [{ path }, value] of fields) {
    if (path.startsWith(SPEC_PATH)) continue
    const [part, name] = path.split('.') as [string, string | undefined]
    update[part] = name === undefined ? value : { ...(update[part] as object | undefined), [name]: value }
  }
  const resourceSpec = editedResourceSpec(settings, edits)
  if (resourceSpec) update.sourceConfig = { ...(update.sourceConfig as object | undefined), resourceSpec }
  if (changed.length > 0) update.secrets = completeSecrets(settings, changed)
  return { update, secrets: null, tags }
}

/** The complete spec, because a sent spec replaces the stored one. Null: no resource was edited. */
export function editedResourceSpec(settings: StoredSettings, edits: Edits): Record<string, unknown> | null {
  const edited = editedFields(edits).filter(([{ path }]) => path.startsWith(SPEC_PATH))
  if (edited.length === 0) return null
  const spec = new Map(Object.entries((storedValue(settings, SPEC_PATH) ?? {}) as object))
  for (const [{ name }, value] of edited) {
    if (value === null) spec.delete(name)
    else spec.set(name, value)
  }
  return Object.fromEntries(spec)
}

/** All secrets. Unchanged ones are sent masked and keep their values. The version check catches concurrent edits. */
function completeSecrets({ secrets }: StoredSettings, changed: readonly SecretEdit[]) {
  const all = new Map<string, string | null>(secrets.map(({ name }) => [name, MASKED_VALUE]))
  for (const { name, value } of changed) all.set(name, value)
  return [...all].flatMap(([name, value]) => (value === null ? [] : [{ name, value }]))
}

export interface SaveEffects {
  /** how the new revision starts (`keeps`: with the current build); null: no revision */
  revision: 'builds' | 'deploys' | 'keeps' | null
  effects: ReadonlySet<Effect>
}

/** A changed source is built, and so are commands saved together with secrets. Secrets alone reuse the current build. */
export function saveEffects(edits: Edits, { source }: Pick<StoredSettings, 'source'>): SaveEffects {
  const effects = new Set(editedFields(edits).map(([{ effect }]) => effect))
  const isBuilt = source === 'gitprovider' || source === 'internal_source'
  if (effects.has('builds')) return { revision: 'builds', effects }
  if (effects.has('deploys')) return { revision: 'deploys', effects }
  if (secretEdits(edits).length === 0) return { revision: null, effects }
  return { revision: effects.has('nextBuild') && isBuilt ? 'builds' : 'keeps', effects }
}
