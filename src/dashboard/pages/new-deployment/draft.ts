/** State of the form, and the API input made from it. */
import type { graphql } from '../../api/graphql.ts'

type Input = ReturnType<typeof graphql.scalar<'CreateDeploymentInput'>>

export type SourceKind = 'image' | 'git' | 'upload'

/** The most common resources; the settings page has all of them. */
export type Resource = 'minScale' | 'maxScale' | 'cpu' | 'memoryMb'

export interface Draft {
  from: SourceKind
  name: string
  /** true until the reader types a name: the name follows the chosen source */
  isNameDerived: boolean
  imageUri: string
  /** null: the built-in worker */
  listenerId: string | null
  namespace: string | null
  /** empty: the runtime assigns a URL */
  customUrl: string
  /** absent: the server's default */
  resources: Partial<Record<Resource, number>>
  integrationId: string | null
  repoUrl: string
  repoRef: string
  buildOnPush: boolean
  graphConfigPath: string
  installCommand: string
  buildCommand: string
  secrets: { id: number; name: string; value: string }[]
}

export const EMPTY_DRAFT: Draft = {
  from: 'image',
  name: '',
  isNameDerived: true,
  imageUri: '',
  listenerId: null,
  namespace: null,
  customUrl: '',
  resources: {},
  integrationId: null,
  repoUrl: '',
  repoRef: '',
  buildOnPush: false,
  graphConfigPath: 'graph.json',
  installCommand: '',
  buildCommand: '',
  secrets: [],
}

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

/** Input of the mutation, without empty fields. The REST body is the same in snake_case. */
export function toCreateInput(draft: Draft): Input {
  const { from, name } = draft
  const builds = from !== 'image'
  const sourceConfig = {
    ...(from === 'git' && {
      integrationId: draft.integrationId,
      repoUrl: draft.repoUrl,
      ...(draft.buildOnPush && { buildOnPush: true }),
    }),
    ...(from === 'image' && draft.listenerId && { listenerId: draft.listenerId }),
    ...(from === 'image' &&
      draft.listenerId &&
      draft.namespace && { listenerConfig: { k8sNamespace: draft.namespace } }),
    ...(from === 'image' && draft.customUrl.trim() && { customUrl: draft.customUrl.trim() }),
    ...(Object.keys(draft.resources).length > 0 && { resourceSpec: draft.resources }),
    ...(builds && draft.installCommand && { installCommand: draft.installCommand }),
    ...(builds && draft.buildCommand && { buildCommand: draft.buildCommand }),
  }
  const sourceRevisionConfig = {
    ...(from === 'image' && { imageUri: draft.imageUri.trim() }),
    ...(from === 'git' && { repoRef: draft.repoRef }),
    ...(builds && { graphConfigPath: draft.graphConfigPath }),
  }
  const secrets = draft.secrets
    .filter((secret) => secret.name !== '' || secret.value !== '')
    .map((secret) => ({ name: secret.name, value: secret.value }))
  return { name, source: SOURCES[from], sourceConfig, sourceRevisionConfig, secrets }
}

/** The form field of a violation, by its path in the input; null: not in the form. */
export function formFieldOf(path: readonly string[]): string | null {
  const [, first, second, third] = path
  if (first === 'secrets') return 'secrets'
  if (second === 'resourceSpec') return third ?? second
  return first === 'sourceConfig' || first === 'sourceRevisionConfig' ? (second ?? null) : (first ?? null)
}
