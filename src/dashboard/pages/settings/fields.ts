/** All fields of the settings. Types, bounds and sources are the API's (input-fields.ts); texts and effects are here. */
import { INPUT_FIELDS, type InputField } from '../../components/input-fields.ts'
import { fieldLabel } from '../../components/labels.ts'

/**
 * Effect of a change. `builds`: builds a new revision. `deploys`: deploys a new revision without a build. `nextBuild`:
 * used by the next build. `immediate`: applied to the running deployment without a revision. `none`: changes nothing that runs.
 */
export type Effect = 'builds' | 'deploys' | 'nextBuild' | 'immediate' | 'none'
type Kind = 'text' | 'switch' | 'integer' | 'cores' | 'pairs' | 'names' | 'json' | 'rows' | 'upload'

export interface Field extends InputField {
  /** in the form */
  name: string
  /** in `UpdateDeploymentInput` */
  path: string
  label: string
  kind: Kind
  effect: Effect
  /** sent for an empty field to remove the stored value; absent: the value can't be removed, or is part of a whole */
  empty?: '' | 0
  help?: string
  /** shown for an empty field */
  defaultText?: string
}
type Texts = Partial<Omit<Field, 'name' | 'path'>>

const KINDS: Record<string, Kind> = {
  Int: 'integer',
  Float: 'cores',
  Boolean: 'switch',
  JSONObject: 'pairs',
  '[ImagePullSecretInput!]': 'names',
  QueueScalingInput: 'json',
}

function fieldsOf(parent: string, input: string, effect: Effect): Field[] {
  return Object.entries(INPUT_FIELDS[input]!).map(([name, field]) => ({
    ...field,
    name,
    path: `${parent}.${name}`,
    label: fieldLabel(name),
    kind: KINDS[field.type] ?? (field.type.startsWith('[') ? 'json' : 'text'),
    effect,
  }))
}

/** In the order of `texts`; fields without texts come last. */
function withTexts(fields: Field[], texts: Record<string, Texts>): Field[] {
  const names = Object.keys(texts)
  const place = ({ name }: Field) => (names.includes(name) ? names.indexOf(name) : names.length)
  return fields.map((field) => ({ ...field, ...texts[field.name] })).sort((a, b) => place(a) - place(b))
}

/** Set at the creation, or by the server. */
const FIXED = [
  'integrationId',
  'repoUrl',
  'deploymentType',
  'listenerId',
  'listenerConfig',
  'resourceSpec',
  'repoCommitSha',
]

const BUILT = ['gitprovider', 'internal_source']

export const SOURCE_FIELDS: readonly Field[] = withTexts(
  [
    ...fieldsOf('sourceConfig', 'SourceConfigInput', 'none'),
    ...fieldsOf('sourceRevisionConfig', 'SourceRevisionConfigInput', 'builds'),
  ].filter(({ name }) => !FIXED.includes(name)),
  {
    repoRef: { help: 'A branch name, or a tag as refs/tags/….' },
    buildOnPush: {
      help: 'Each push to the branch creates a revision. Not available for tags.',
      defaultText: 'off',
    },
    graphConfigPath: {
      help: 'Path to the graph configuration file, package.json, pyproject.toml, Procfile or Dockerfile.',
    },
    imageUri: { help: 'The container image to run.', effect: 'deploys' },
    sourceTarballPath: {
      label: 'Source',
      kind: 'upload',
      help: 'Uploads immediately and builds when you save.',
      defaultText: 'no source yet',
    },
    // the server takes commands for images too, without effect
    installCommand: {
      effect: 'nextBuild',
      empty: '',
      sources: BUILT,
      help: 'Runs in the repository root. JavaScript only.',
      defaultText: 'detected from the lock file',
    },
    buildCommand: {
      effect: 'nextBuild',
      empty: '',
      sources: BUILT,
      help: 'Runs in the folder of the configuration file. JavaScript only.',
      defaultText: 'none',
    },
    customUrl: {
      effect: 'immediate',
      help: 'The http(s) URL of the deployment.',
      defaultText: 'assigned by the runtime',
    },
  },
)

export const SPEC_PATH = 'sourceConfig.resourceSpec'
const resourceLabel = (name: string) => fieldLabel(name).replace(/scale$/, 'replicas')
const RESOURCES = fieldsOf(SPEC_PATH, 'ResourceSpecInput', 'immediate').map((field) => ({
  ...field,
  label: resourceLabel(field.name),
}))

export interface ResourceGroup {
  title: string
  about: string
  fields: readonly Field[]
}

/** Resources of each process in the order of the page, with the text of an empty field. */
const PROCESS_RESOURCES: Record<string, string | undefined> = {
  minScale: undefined,
  maxScale: undefined,
  cpu: 'no request',
  cpuLimit: '2 × CPU',
  memoryMb: 'no request',
  memoryLimitMb: '2 × memory',
  storageGi: undefined,
  maxConnections: undefined,
  terminationGraceSeconds: 'the server’s default',
  healthPath: 'no liveness probe',
}

/** `prefix`: start of the fields' names. `defaults`: texts of empty fields. */
function group(title: string, about: string, prefix: string, defaults: Record<string, string>): ResourceGroup {
  const fields = Object.keys(PROCESS_RESOURCES).flatMap((resource) => {
    const name = prefix === '' ? resource : prefix + resource[0]!.toUpperCase() + resource.slice(1)
    const found = RESOURCES.find((field) => field.name === name)
    if (!found) return []
    const defaultText = defaults[resource] ?? PROCESS_RESOURCES[resource]
    return { ...found, label: resourceLabel(resource), defaultText }
  })
  return { title, about, fields }
}

const AGENTS = 'same as agent'
export const RESOURCE_GROUPS: readonly ResourceGroup[] = [
  group('Agent', 'Per replica.', '', { minScale: '1', maxScale: '1' }),
  group('Queue', 'Processes background runs. Empty fields use the agent’s values.', 'queue', {
    minScale: AGENTS,
    maxScale: AGENTS,
    cpu: AGENTS,
    memoryMb: AGENTS,
  }),
  group('Cache', 'Runs next to the agent.', 'cache', { memoryLimitMb: 'same as memory' }),
  group('Database', 'The deployment’s Postgres.', 'db', { storageGi: '10', maxConnections: '100' }),
]

/** Stored and shown, but without effect. Clients of other servers send them. */
export const UNUSED_FIELDS: readonly Field[] = RESOURCES.filter(({ isUnused }) => isUnused)

const grouped = RESOURCE_GROUPS.flatMap(({ fields }) => fields.map(({ name }) => name))
export const CLUSTER_FIELDS: readonly Field[] = withTexts(
  RESOURCES.filter(({ name, isUnused }) => !isUnused && !grouped.includes(name)),
  {
    serviceAccountName: { label: 'Service account', help: 'Must exist in the namespace.' },
    imagePullSecrets: { help: 'Names of secrets in the namespace.' },
    labels: { help: 'Added to every object.' },
    annotations: { help: 'Added to every object.' },
    ingressAnnotations: { help: 'Added to the Ingress only.' },
    autoscaler: {
      help: 'cpu, or none if another system sets the replicas between min and max.',
      defaultText: 'cpu',
    },
    queueScaling: {
      help: '{"metric": "backlog", "target": 10}: one replica for each 10 waiting runs, with KEDA.',
      defaultText: 'cpu, 80 %',
    },
    class: { help: 'Where the pods run: one of the listener’s classes.' },
    volumes: { help: '[{"name": "data", "emptyDir": {}}]' },
    volumeMounts: { help: '[{"name": "data", "mountPath": "/data"}]' },
    initContainers: { help: 'Run to completion before the agent starts.' },
    sidecars: { help: 'Run next to the agent.' },
  },
)

/** 0 is the server's default, so the form takes the bounds of a new deployment. */
export const IDLE_MINUTES: Field = {
  ...INPUT_FIELDS.CreateDeploymentInput!.idleMinutes!,
  name: 'idleMinutes',
  path: 'idleMinutes',
  label: 'Minutes without requests',
  kind: 'integer',
  effect: 'immediate',
  empty: 0,
  defaultText: 'the server’s default',
}
const REFERENCES: Field = {
  ...INPUT_FIELDS.UpdateDeploymentInput!.secretReferences!,
  name: 'secretReferences',
  path: 'secretReferences',
  label: 'Secret references',
  kind: 'rows',
  effect: 'immediate',
}
const TAGS: Field = {
  type: '[DeploymentTagInput!]!',
  name: 'tags',
  path: 'tags',
  label: 'Tags',
  kind: 'rows',
  effect: 'none',
}

export const FIELDS: readonly Field[] = [
  ...SOURCE_FIELDS,
  ...RESOURCE_GROUPS.flatMap(({ fields }) => fields),
  ...CLUSTER_FIELDS,
  ...UNUSED_FIELDS,
  IDLE_MINUTES,
  REFERENCES,
  TAGS,
]
const FIELDS_BY_NAME = new Map(FIELDS.map((field) => [field.name, field]))
export const findField = (name: string): Field | undefined => FIELDS_BY_NAME.get(name)

/** Label of a field as events name it: without its group. */
export const eventFieldLabel = (changed: string): string =>
  EVENT_FIELD_LABELS[changed] ?? FIELDS_BY_NAME.get(changed)?.label.toLowerCase() ?? changed
const EVENT_FIELD_LABELS: Record<string, string> = { resourceSpec: 'resources', secrets: 'secrets' }

/** Label with the resource group: `Queue: CPU`. */
export function fullLabel({ name, label }: Field): string {
  const group = RESOURCE_GROUPS.find(({ fields }) => fields.some((field) => field.name === name))
  return group ? `${group.title}: ${label}` : label
}

export const appliesTo = ({ sources }: Field, source: string): boolean => !sources || sources.includes(source)
