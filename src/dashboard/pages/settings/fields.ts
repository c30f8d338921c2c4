/** All settings fields, with their bounds, defaults, sources and the effect of a change. */
import type { Source } from './stored-settings.ts'

/**
 * Effect of a change. `builds`: builds a new revision. `deploys`: deploys a new revision without a build. `nextBuild`:
 * used by the next build. `immediate`: applied to the running deployment without a revision. `none`: changes nothing that runs.
 */
export type Effect = 'builds' | 'deploys' | 'nextBuild' | 'immediate' | 'none'

export interface Field {
  /** path in `UpdateDeploymentInput` */
  path: string
  label: string
  help?: string
  kind: 'text' | 'switch' | 'integer' | 'cores' | 'pairs' | 'names' | 'json' | 'upload'
  effect: Effect
  /** absent: all sources */
  sources?: readonly Source[]
  min?: number
  max?: number
  /** characters of a text */
  maxLength?: number
  /** shown for an empty field */
  defaultText?: string
}

const GIT = ['gitprovider'] as const
const BUILT = ['gitprovider', 'internal_source'] as const
const IMAGES = ['external_container', 'internal_container'] as const

export const SOURCE_FIELDS: readonly Field[] = [
  {
    path: 'sourceRevisionConfig.repoRef',
    label: 'Branch or tag',
    help: 'A branch name, or a tag as refs/tags/….',
    kind: 'text',
    effect: 'builds',
    sources: GIT,
    maxLength: 2048,
  },
  {
    path: 'sourceConfig.buildOnPush',
    label: 'Build on push',
    help: 'Each push to the branch creates a revision. Not available for tags.',
    kind: 'switch',
    effect: 'none',
    sources: GIT,
    defaultText: 'off',
  },
  {
    path: 'sourceRevisionConfig.graphConfigPath',
    label: 'Configuration file',
    help: 'Path to the graph configuration file, package.json, pyproject.toml, Procfile or Dockerfile.',
    kind: 'text',
    effect: 'builds',
    sources: BUILT,
    maxLength: 2048,
  },
  {
    path: 'sourceRevisionConfig.imageUri',
    label: 'Image',
    help: 'The container image to run.',
    kind: 'text',
    effect: 'deploys',
    sources: IMAGES,
    maxLength: 2048,
  },
  {
    path: 'sourceRevisionConfig.sourceTarballPath',
    label: 'Source',
    help: 'Uploads immediately and builds when you save.',
    kind: 'upload',
    effect: 'builds',
    sources: ['internal_source'],
    defaultText: 'no source yet',
  },
  {
    path: 'sourceConfig.installCommand',
    label: 'Install command',
    help: 'Runs in the repository root. JavaScript only.',
    kind: 'text',
    effect: 'nextBuild',
    sources: BUILT,
    maxLength: 4096,
    defaultText: 'detected from the lock file',
  },
  {
    path: 'sourceConfig.buildCommand',
    label: 'Build command',
    help: 'Runs in the folder of the configuration file. JavaScript only.',
    kind: 'text',
    effect: 'nextBuild',
    sources: BUILT,
    maxLength: 4096,
    defaultText: 'none',
  },
  {
    path: 'sourceConfig.customUrl',
    label: 'URL',
    help: 'The http(s) URL of the deployment.',
    kind: 'text',
    effect: 'immediate',
    sources: ['external_container'],
    maxLength: 2048,
    defaultText: 'assigned by the runtime',
  },
]

const SPEC = 'sourceConfig.resourceSpec'
const resource = (name: string, label: string, rest: Pick<Field, 'kind'> & Partial<Field>): Field => ({
  path: `${SPEC}.${name}`,
  label,
  effect: 'immediate',
  ...rest,
})
const INT32_MAX = 2_147_483_647
const integer = (name: string, label: string, defaultText?: string) =>
  resource(name, label, { kind: 'integer', min: 0, max: INT32_MAX, defaultText })
const cores = (name: string, label: string, max: number, defaultText?: string) =>
  resource(name, label, { kind: 'cores', min: 0.1, max, defaultText })
const anyCores = (name: string, label: string, defaultText?: string) =>
  resource(name, label, { kind: 'cores', min: 0, max: 1_000_000, defaultText })

export interface ResourceGroup {
  title: string
  about: string
  fields: readonly Field[]
}

interface ComputeOptions {
  /** start of the field names */
  prefix?: string
  /** default of CPU and memory */
  request?: string
  memoryLimit?: string
  /** whether the agent's CPU bounds apply */
  isBounded?: boolean
}

function computeFields({
  prefix = '',
  request = 'no request',
  memoryLimit = '2 × memory',
  isBounded = true,
}: ComputeOptions): Field[] {
  const named = (name: string) => (prefix === '' ? name : prefix + name[0]!.toUpperCase() + name.slice(1))
  const cpu = (name: string, label: string, max: number, defaultText: string) =>
    isBounded ? cores(named(name), label, max, defaultText) : anyCores(named(name), label, defaultText)
  return [
    cpu('cpu', 'CPU', 8, request),
    cpu('cpuLimit', 'CPU limit', 16, '2 × CPU'),
    integer(named('memoryMb'), 'Memory (MB)', request),
    integer(named('memoryLimitMb'), 'Memory limit (MB)', memoryLimit),
  ]
}

export const RESOURCE_GROUPS: readonly ResourceGroup[] = [
  {
    title: 'Agent',
    about: 'Per replica.',
    fields: [integer('minScale', 'Min replicas', '1'), integer('maxScale', 'Max replicas', '1'), ...computeFields({})],
  },
  {
    title: 'Queue',
    about: 'Processes background runs. Empty fields use the agent’s values.',
    fields: [
      integer('queueMinScale', 'Min replicas', 'same as agent'),
      integer('queueMaxScale', 'Max replicas', 'same as agent'),
      ...computeFields({ prefix: 'queue', request: 'same as agent' }),
    ],
  },
  {
    title: 'Cache',
    about: 'Runs next to the agent.',
    fields: computeFields({ prefix: 'cache', memoryLimit: 'same as memory' }),
  },
  {
    title: 'Database',
    about: 'The deployment’s Postgres.',
    fields: [
      ...computeFields({ prefix: 'db', isBounded: false }),
      integer('dbStorageGi', 'Storage (GiB)', '10'),
      integer('dbMaxConnections', 'Max connections', '100'),
    ],
  },
]

export const CLUSTER_FIELDS: readonly Field[] = [
  resource('serviceAccountName', 'Service account', { kind: 'text', help: 'Must exist in the namespace.' }),
  resource('imagePullSecrets', 'Image pull secrets', { kind: 'names', help: 'Names of secrets in the namespace.' }),
  resource('labels', 'Labels', { kind: 'pairs', help: 'Added to every object.' }),
  resource('annotations', 'Annotations', { kind: 'pairs', help: 'Added to every object.' }),
  resource('ingressAnnotations', 'Ingress annotations', { kind: 'pairs', help: 'Added to the Ingress only.' }),
  resource('autoscaler', 'Autoscaler', {
    kind: 'text',
    help: 'cpu, or none if another system sets the replicas between min and max.',
    defaultText: 'cpu',
  }),
  resource('class', 'Class', { kind: 'text', help: 'Where the pods run: one of the listener’s classes.' }),
  resource('volumes', 'Volumes', { kind: 'json', help: '[{"name": "data", "emptyDir": {}}]' }),
  resource('volumeMounts', 'Volume mounts', { kind: 'json', help: '[{"name": "data", "mountPath": "/data"}]' }),
  resource('initContainers', 'Init containers', { kind: 'json', help: 'Run to completion before the agent starts.' }),
  resource('sidecars', 'Sidecars', { kind: 'json', help: 'Run next to the agent.' }),
]

/** Stored and shown, but without effect. Clients of other servers send them. */
export const UNUSED_FIELDS: readonly Field[] = [
  anyCores('orchestratorCpu', 'Orchestrator CPU'),
  anyCores('orchestratorCpuLimit', 'Orchestrator CPU limit'),
  integer('orchestratorMemoryMb', 'Orchestrator memory (MB)'),
  integer('orchestratorMemoryLimitMb', 'Orchestrator memory limit (MB)'),
  integer('orchestratorMinScale', 'Orchestrator min replicas'),
  integer('orchestratorMaxScale', 'Orchestrator max replicas'),
  anyCores('executorCpu', 'Executor CPU'),
  anyCores('executorCpuLimit', 'Executor CPU limit'),
  integer('executorMemoryMb', 'Executor memory (MB)'),
  integer('executorMemoryLimitMb', 'Executor memory limit (MB)'),
]

const REFERENCES: Field = {
  path: 'secretReferences',
  label: 'Secret references',
  kind: 'json',
  effect: 'immediate',
  sources: ['external_container'],
}
const TAGS: Field = { path: 'tags', label: 'Tags', kind: 'json', effect: 'none' }

const ALL_FIELDS = [
  ...SOURCE_FIELDS,
  ...RESOURCE_GROUPS.flatMap(({ fields }) => fields),
  ...CLUSTER_FIELDS,
  ...UNUSED_FIELDS,
  REFERENCES,
  TAGS,
]
const FIELDS_BY_PATH = new Map(ALL_FIELDS.map((field) => [field.path, field]))
export const findField = (path: string): Field | undefined => FIELDS_BY_PATH.get(path)

/** Label of a field as events name it: without its group. */
export const eventFieldLabel = (changed: string): string =>
  EVENT_FIELD_LABELS[changed] ??
  ALL_FIELDS.find(({ path }) => path.split('.').pop() === changed)?.label.toLowerCase() ??
  changed
const EVENT_FIELD_LABELS: Record<string, string> = { resourceSpec: 'resources', secrets: 'secrets' }

/** Label with the resource group: `Queue: CPU`. */
export function fieldLabel(path: string): string {
  const group = RESOURCE_GROUPS.find(({ fields }) => fields.some((field) => field.path === path))
  const label = findField(path)?.label ?? path
  return group ? `${group.title}: ${label}` : label
}

/** Bounds for display; null: none. */
export function boundsText({ kind, min, max, maxLength }: Field): string | null {
  if (kind === 'cores') return max! > 1_000 ? 'cores' : `${min} to ${max} cores`
  if (kind === 'integer') return `${min} or more`
  return maxLength ? `At most ${maxLength.toLocaleString('en')} characters` : null
}

export const appliesTo = ({ sources }: Field, source: Source): boolean => !sources || sources.includes(source)
