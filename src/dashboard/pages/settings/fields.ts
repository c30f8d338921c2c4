/** Every field that can be set, with its bounds, its default, for which sources it is, and what comes of another value. Pure. */
import type { Source } from './stored.ts'

/**
 * What another value does: `builds` a new revision · `deploys` a new revision without a build · `nextBuild`: is kept for the next build ·
 * `atOnce`: is carried out on what runs, without a revision · `nothing`: nothing runs differently
 */
export type Effect = 'builds' | 'deploys' | 'nextBuild' | 'atOnce' | 'nothing'

export interface Field {
  /** as in `UpdateDeploymentInput` */
  path: string
  label: string
  help?: string
  kind: 'text' | 'switch' | 'whole' | 'cores' | 'pairs' | 'names' | 'json' | 'upload'
  effect: Effect
  /** absent: all of them */
  sources?: readonly Source[]
  min?: number
  max?: number
  /** of a text: the longest */
  length?: number
  /** for people: what it is where nothing is said */
  otherwise?: string
}

const GIT = ['gitprovider'] as const
const BUILT = ['gitprovider', 'internal_source'] as const
const IMAGES = ['external_container', 'internal_container'] as const

export const SOURCE_FIELDS: readonly Field[] = [
  {
    path: 'sourceRevisionConfig.repoRef',
    label: 'Branch or tag',
    help: 'A branch by its name, or a tag as refs/tags/….',
    kind: 'text',
    effect: 'builds',
    sources: GIT,
    length: 2048,
  },
  {
    path: 'sourceConfig.buildOnPush',
    label: 'Build on push',
    help: 'Each push to the branch makes a revision. Not with a tag.',
    kind: 'switch',
    effect: 'nothing',
    sources: GIT,
    otherwise: 'off',
  },
  {
    path: 'sourceRevisionConfig.graphConfigPath',
    label: 'Configuration file',
    help: 'The path of the graph configuration file in the source, or of package.json, pyproject.toml, Procfile or Dockerfile.',
    kind: 'text',
    effect: 'builds',
    sources: BUILT,
    length: 2048,
  },
  {
    path: 'sourceRevisionConfig.imageUri',
    label: 'Image',
    help: 'The container image that is run.',
    kind: 'text',
    effect: 'deploys',
    sources: IMAGES,
    length: 2048,
  },
  {
    path: 'sourceRevisionConfig.sourceTarballPath',
    label: 'Source',
    help: 'Sent at once; it is built when this is saved.',
    kind: 'upload',
    effect: 'builds',
    sources: ['internal_source'],
    otherwise: 'nothing to build yet',
  },
  {
    path: 'sourceConfig.installCommand',
    label: 'Install command',
    help: 'Runs from the root of the repository. For JavaScript.',
    kind: 'text',
    effect: 'nextBuild',
    sources: BUILT,
    length: 4096,
    otherwise: 'found by the lock file',
  },
  {
    path: 'sourceConfig.buildCommand',
    label: 'Build command',
    help: 'Runs from the folder of the configuration file. For JavaScript.',
    kind: 'text',
    effect: 'nextBuild',
    sources: BUILT,
    length: 4096,
    otherwise: 'none',
  },
  {
    path: 'sourceConfig.customUrl',
    label: 'Address',
    help: 'Where it is reached: an http(s) URL.',
    kind: 'text',
    effect: 'atOnce',
    sources: ['external_container'],
    length: 2048,
    otherwise: 'the runtime’s own',
  },
]

const SPEC = 'sourceConfig.resourceSpec'
const resource = (name: string, label: string, rest: Pick<Field, 'kind'> & Partial<Field>): Field => ({
  path: `${SPEC}.${name}`,
  label,
  effect: 'atOnce',
  ...rest,
})
const MOST = 2_147_483_647
const whole = (name: string, label: string, otherwise?: string) =>
  resource(name, label, { kind: 'whole', min: 0, max: MOST, otherwise })
const cores = (name: string, label: string, max: number, otherwise?: string) =>
  resource(name, label, { kind: 'cores', min: 0.1, max, otherwise })
const anyCores = (name: string, label: string, otherwise?: string) =>
  resource(name, label, { kind: 'cores', min: 0, max: 1_000_000, otherwise })

export interface ResourceGroup {
  title: string
  about: string
  fields: readonly Field[]
}

interface Computed {
  /** how the names of its fields begin */
  of?: string
  /** what is asked for where nothing is said */
  request?: string
  memoryLimit?: string
  /** whether the bounds of CPU are those of an agent */
  isBounded?: boolean
}

/** CPU and memory, which everything that runs has. */
function compute({ of = '', request = 'no request', memoryLimit = '2 × memory', isBounded = true }: Computed): Field[] {
  const named = (name: string) => (of === '' ? name : of + name[0]!.toUpperCase() + name.slice(1))
  const cpu = (name: string, label: string, max: number, otherwise: string) =>
    isBounded ? cores(named(name), label, max, otherwise) : anyCores(named(name), label, otherwise)
  return [
    cpu('cpu', 'CPU', 8, request),
    cpu('cpuLimit', 'CPU limit', 16, '2 × CPU'),
    whole(named('memoryMb'), 'Memory, MB', request),
    whole(named('memoryLimitMb'), 'Memory limit, MB', memoryLimit),
  ]
}

export const RESOURCE_GROUPS: readonly ResourceGroup[] = [
  {
    title: 'Agent',
    about: 'Of each replica.',
    fields: [whole('minScale', 'Replicas, least', '1'), whole('maxScale', 'Replicas, most', '1'), ...compute({})],
  },
  {
    title: 'Queue',
    about: 'What works on runs in the background. Like the agent where nothing is said.',
    fields: [
      whole('queueMinScale', 'Replicas, least', 'the agent’s'),
      whole('queueMaxScale', 'Replicas, most', 'the agent’s'),
      ...compute({ of: 'queue', request: 'the agent’s' }),
    ],
  },
  {
    title: 'Cache',
    about: 'Beside the agent.',
    fields: compute({ of: 'cache', memoryLimit: 'the memory' }),
  },
  {
    title: 'Database',
    about: 'The deployment’s own Postgres.',
    fields: [
      ...compute({ of: 'db', isBounded: false }),
      whole('dbStorageGi', 'Storage, GiB', '10'),
      whole('dbMaxConnections', 'Connections, most', '100'),
    ],
  },
]

export const CLUSTER_FIELDS: readonly Field[] = [
  resource('serviceAccountName', 'Service account', { kind: 'text', help: 'Must be there, in the namespace.' }),
  resource('imagePullSecrets', 'Image pull secrets', { kind: 'names', help: 'Names of secrets in the namespace.' }),
  resource('labels', 'Labels', { kind: 'pairs', help: 'On each object that is made.' }),
  resource('annotations', 'Annotations', { kind: 'pairs', help: 'On each object that is made.' }),
  resource('ingressAnnotations', 'Ingress annotations', { kind: 'pairs', help: 'On the Ingress alone.' }),
  resource('autoscaler', 'Autoscaler', {
    kind: 'text',
    help: 'cpu, or none where something else decides the replicas within minimum and maximum.',
    otherwise: 'cpu',
  }),
  resource('class', 'Class', { kind: 'text', help: 'Where the pods run: one of the classes of the listener.' }),
  resource('volumes', 'Volumes', { kind: 'json', help: '[{"name": "data", "emptyDir": {}}]' }),
  resource('volumeMounts', 'Volume mounts', { kind: 'json', help: '[{"name": "data", "mountPath": "/data"}]' }),
  resource('initContainers', 'Init containers', { kind: 'json', help: 'Run to their end before the agent starts.' }),
  resource('sidecars', 'Sidecars', { kind: 'json', help: 'Run beside the agent.' }),
]

/** Stored and shown, without effect: callers of other servers send them. */
export const UNUSED_FIELDS: readonly Field[] = [
  anyCores('orchestratorCpu', 'Orchestrator CPU'),
  anyCores('orchestratorCpuLimit', 'Orchestrator CPU limit'),
  whole('orchestratorMemoryMb', 'Orchestrator memory, MB'),
  whole('orchestratorMemoryLimitMb', 'Orchestrator memory limit, MB'),
  whole('orchestratorMinScale', 'Orchestrator replicas, least'),
  whole('orchestratorMaxScale', 'Orchestrator replicas, most'),
  anyCores('executorCpu', 'Executor CPU'),
  anyCores('executorCpuLimit', 'Executor CPU limit'),
  whole('executorMemoryMb', 'Executor memory, MB'),
  whole('executorMemoryLimitMb', 'Executor memory limit, MB'),
]

const REFERENCES: Field = {
  path: 'secretReferences',
  label: 'Secret references',
  kind: 'json',
  effect: 'atOnce',
  sources: ['external_container'],
}
const TAGS: Field = { path: 'tags', label: 'Tags', kind: 'json', effect: 'nothing' }

const ALL = [
  ...SOURCE_FIELDS,
  ...RESOURCE_GROUPS.flatMap(({ fields }) => fields),
  ...CLUSTER_FIELDS,
  ...UNUSED_FIELDS,
  REFERENCES,
  TAGS,
]
const byPath = new Map(ALL.map((field) => [field.path, field]))
export const fieldAt = (path: string): Field | undefined => byPath.get(path)

/** Of a field as events name it, which know no groups. */
export const wordOf = (changed: string): string =>
  CHANGED[changed] ?? ALL.find(({ path }) => path.split('.').pop() === changed)?.label.toLowerCase() ?? changed
const CHANGED: Record<string, string> = { resourceSpec: 'resources', secrets: 'secrets' }

/** For people, with the group that it is in: `Queue: CPU`. */
export function nameOf(path: string): string {
  const group = RESOURCE_GROUPS.find(({ fields }) => fields.some((field) => field.path === path))
  const label = fieldAt(path)?.label ?? path
  return group ? `${group.title}: ${label}` : label
}

/** Bounds, for people; null: none worth telling. */
export function boundsOf({ kind, min, max, length }: Field): string | null {
  if (kind === 'cores') return max! > 1_000 ? 'cores' : `${min} to ${max} cores`
  if (kind === 'whole') return `${min} or more`
  return length ? `At most ${length.toLocaleString('en')} characters` : null
}

export const isFor = ({ sources }: Field, source: Source): boolean => !sources || sources.includes(source)
