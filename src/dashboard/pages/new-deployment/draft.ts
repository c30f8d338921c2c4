/** What is being made, as it stands in the form, and what is sent of it. Pure. */
import type { graphql } from '../../api/graphql.ts'

type Input = ReturnType<typeof graphql.scalar<'CreateDeploymentInput'>>

export type SourceKind = 'image' | 'git' | 'upload'

/** The part of the resources that most set at once; the page of settings has all of them. */
export type Resource = 'minScale' | 'maxScale' | 'cpu' | 'memoryMb'

export interface Draft {
  from: SourceKind
  name: string
  /** nobody has typed a name: it follows what is chosen */
  isNameDerived: boolean
  imageUri: string
  /** null: the built-in worker */
  listenerId: string | null
  namespace: string | null
  /** empty: the address that the runtime gives it */
  customUrl: string
  /** what is left empty has the default of the server */
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

/** A name like what is at the end of an image, a repository or a path: `registry.example.com/acme/agent:1` → `agent`. */
export const suggestName = (text: string): string =>
  text
    .replace(/[@#?].*$/, '')
    .replace(/\/+$/, '')
    .split('/')
    .at(-1)!
    .replace(/:[^:]*$/, '')
    .replace(/\.(git|tgz|tar\.gz)$/, '')

const SOURCES = { image: 'external_container', git: 'gitprovider', upload: 'internal_source' } as const

/** Of the input of the mutation; the body over REST is the same, in snake_case. Nothing that was left empty is in it. */
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

/** Which field of the form a violation is about, by its path in the input; null: none that is shown. */
export function formFieldOf(path: readonly string[]): string | null {
  const [, first, second, third] = path
  if (first === 'secrets') return 'secrets'
  if (second === 'resourceSpec') return third ?? second
  return first === 'sourceConfig' || first === 'sourceRevisionConfig' ? (second ?? null) : (first ?? null)
}
