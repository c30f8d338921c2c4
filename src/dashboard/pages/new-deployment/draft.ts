/** The form's values, and the API input made from them. */
import type { graphql } from '../../api/graphql.ts'

type Input = ReturnType<typeof graphql.scalar<'CreateDeploymentInput'>>

export type SourceKind = 'image' | 'git' | 'upload'

export const EMPTY_DRAFT = {
  from: 'image' as SourceKind,
  name: '',
  /** true until the reader types a name: the name follows the chosen source */
  isNameDerived: true,
  imageUri: '',
  /** empty: the built-in worker */
  listenerId: '',
  namespace: '',
  /** empty: the runtime assigns a URL */
  customUrl: '',
  /** The most common ones; the settings page has all of them. Empty: the server's default. */
  resources: { minScale: '', maxScale: '', cpu: '', memoryMb: '' } as Record<string, string | number>,
  /** empty: the server's default; sent only for an agent that sleeps */
  idleMinutes: '' as string | number,
  integrationId: '',
  repoUrl: '',
  repoRef: '',
  buildOnPush: false,
  graphConfigPath: 'graph.json',
  installCommand: '',
  buildCommand: '',
  secrets: [] as { name: string; value: string }[],
}
export type Draft = typeof EMPTY_DRAFT

/** Suggests a name from an image, repository or path: `registry.example.com/acme/agent:1` → `agent`. */
export const suggestName = (text: string): string =>
  text
    .replace(/[@#?].*$/, '')
    .replace(/\/+$/, '')
    .split('/')
    .at(-1)!
    .replace(/:[^:]*$/, '')
    .replace(/\.(git|tgz|tar\.gz)$/, '')

const SOURCES = { image: 'external_container', git: 'gitprovider', upload: 'internal_source' } as const

/** Whether the agent stops without requests, where agents can sleep. */
export const sleeps = ({ from, listenerId, resources: { minScale } }: Draft): boolean =>
  minScale !== '' && Number(minScale) === 0 && (from !== 'image' || !listenerId)

/** Input of the mutation, without empty fields. The REST body is the same in snake_case. */
export function toCreateInput(draft: Draft): Input {
  const { from, name } = draft
  const builds = from !== 'image'
  const resources = Object.entries(draft.resources).filter(([, value]) => value !== '')
  const sourceConfig = {
    ...(from === 'git' && {
      integrationId: draft.integrationId || null,
      repoUrl: draft.repoUrl,
      ...(draft.buildOnPush && { buildOnPush: true }),
    }),
    ...(from === 'image' &&
      draft.listenerId && {
        listenerId: draft.listenerId,
        ...(draft.namespace && { listenerConfig: { k8sNamespace: draft.namespace } }),
      }),
    ...(from === 'image' && draft.customUrl.trim() && { customUrl: draft.customUrl.trim() }),
    ...(resources.length > 0 && {
      resourceSpec: Object.fromEntries(resources.map(([name, value]) => [name, Number(value)])),
    }),
    ...(builds && draft.installCommand && { installCommand: draft.installCommand }),
    ...(builds && draft.buildCommand && { buildCommand: draft.buildCommand }),
  }
  const sourceRevisionConfig = {
    ...(from === 'image' && { imageUri: draft.imageUri.trim() }),
    ...(from === 'git' && { repoRef: draft.repoRef }),
    ...(builds && { graphConfigPath: draft.graphConfigPath }),
  }
  const secrets = draft.secrets.filter(({ name, value }) => name !== '' || value !== '')
  const idle = sleeps(draft) && draft.idleMinutes !== '' && { idleMinutes: Number(draft.idleMinutes) }
  return { name, source: SOURCES[from], sourceConfig, sourceRevisionConfig, secrets, ...idle }
}

/** The form field of a violation, by its path in the input; '': not in the form. */
export function formFieldOf([, first = '', second = '', third]: readonly string[]): string {
  if (second === 'resourceSpec') return third ? `resources.${third}` : 'resources'
  return first === 'sourceConfig' || first === 'sourceRevisionConfig' ? second : first
}
