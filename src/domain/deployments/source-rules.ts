/** Field rules by source (docs/deployments.md#deployments). Pure: each returns a list of violations. */
import type { Source } from '../../generated/prisma/enums.ts'
import type { Violation } from '../errors/errors.ts'
import { violation } from '../parsing/parse.ts'
import { RESERVED_NAMES } from '../secrets/rules.ts'
import type { DomainSettings } from '../transaction/context.ts'
import { parseImageReference } from '../values/image-reference.ts'
import { parseRepoUrl } from '../values/repository-url.ts'
import { resourceSpecViolations } from '../values/resource-spec.ts'
import type { SecretReference, SourceConfig, SourceRevisionConfig } from '../values/shapes.ts'

const AND = new Intl.ListFormat('en-GB')

/** Field → the sources that may set it. All sources may set unlisted fields. */
export const FIELD_SOURCES: Record<string, readonly Source[]> = {
  'source_config.integration_id': ['gitprovider'],
  'source_config.repo_url': ['gitprovider'],
  // accepted without effect for the internal sources, because clients use one body for all three
  'source_config.deployment_type': ['gitprovider', 'internal_source', 'internal_container'],
  'source_config.build_on_push': ['gitprovider'],
  'source_config.custom_url': ['external_container'],
  'source_config.listener_id': ['external_container'],
  'source_config.listener_config.k8s_namespace': ['external_container'],
  'source_revision_config.repo_ref': ['gitprovider'],
  'source_revision_config.graph_config_path': ['gitprovider', 'internal_source'],
  'source_revision_config.image_uri': ['external_container', 'internal_container'],
  'source_revision_config.source_tarball_path': ['internal_source'],
  secret_references: ['external_container'],
}

export interface SourceFields {
  source_config?: SourceConfig | null
  source_revision_config?: SourceRevisionConfig | null
  secret_references?: SecretReference[] | null
}

/** Null: absent, null or an empty list. */
function valueAt(body: SourceFields, field: string): unknown {
  const value = field
    .split('.')
    .reduce<unknown>((part, key) => (part as Record<string, unknown> | null | undefined)?.[key], body)
  return Array.isArray(value) && value.length === 0 ? null : (value ?? null)
}

/** `except`: fields that other rules check. */
export function sourceViolations(source: Source, body: SourceFields, except: readonly string[] = []): Violation[] {
  return Object.entries(FIELD_SOURCES)
    .filter(([field, sources]) => valueAt(body, field) !== null && !sources.includes(source) && !except.includes(field))
    .map(([field]) => onlyForViolation(source, field)!)
}

/** Null: the source has the field. */
export function onlyForViolation(source: Source, field: string): Violation | null {
  const sources = FIELD_SOURCES[field]
  return !sources || sources.includes(source)
    ? null
    : violation(field, `Only for ${AND.format(sources)} sources; this deployment's source is ${source}.`)
}

/** Fields that create requires. */
const REQUIRED: Record<Source, readonly string[]> = {
  gitprovider: [
    'source_config.integration_id',
    'source_config.repo_url',
    'source_revision_config.repo_ref',
    'source_revision_config.graph_config_path',
  ],
  external_container: ['source_revision_config.image_uri'],
  internal_container: [],
  internal_source: ['source_revision_config.graph_config_path'],
}

export function requiredViolations(source: Source, body: SourceFields): Violation[] {
  return REQUIRED[source]
    .filter((field) => valueAt(body, field) === null)
    .map((field) => violation(field, `Required for ${source} sources.`, 'missing'))
}

export function offeredViolations(source: Source, modes: DomainSettings['deploymentModes']): Violation[] {
  if (source === 'gitprovider' && !modes.includes('cloud'))
    return [violation('source', 'gitprovider is not offered by this installation (DEPLOYMENT_MODES lacks cloud).')]
  if (source === 'external_container' && !modes.includes('self_hosted'))
    return [
      violation(
        'source',
        'external_container is not offered by this installation (DEPLOYMENT_MODES lacks self_hosted).',
      ),
    ]
  return []
}

/** For create only: the URL can't be changed later. */
export function repoUrlViolations(source: Source, repoUrl: string | null | undefined): Violation[] {
  const parsed = source === 'gitprovider' && repoUrl != null ? parseRepoUrl(repoUrl) : null
  return typeof parsed === 'string' ? [violation('source_config.repo_url', parsed)] : []
}

/** A tag excludes `build_on_push`. Both arguments are the values to be stored. */
export function refViolations(repoRef: string | null, buildOnPush: boolean | null): Violation[] {
  if (repoRef?.startsWith('refs/tags/') && buildOnPush)
    return [
      violation('source_config.build_on_push', 'Cannot be enabled when repo_ref is a tag (starts with refs/tags/).'),
    ]
  return []
}

/**
 * A branch name, or a tag as `refs/tags/…`, by git's rules for names. They also stop a name from being read as an option of
 * git.
 */
function refNameViolations(repoRef: string | null | undefined): Violation[] {
  if (repoRef == null) return []
  const name = repoRef.startsWith('refs/tags/') ? repoRef.slice('refs/tags/'.length) : repoRef
  const field = 'source_revision_config.repo_ref'
  if (name.startsWith('refs/')) return [violation(field, 'Must be a branch name only, or a tag as refs/tags/….')]
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git forbids them in names
  const bad = /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|^[-/.]|\/\.|[/.]$|\.lock(\/|$)|^@$|^$/.test(name)
  return bad ? [violation(field, 'Not a valid git branch or tag name.')] : []
}

function pathViolations(graphConfigPath: string | null | undefined): Violation[] {
  if (graphConfigPath == null) return []
  const outside =
    graphConfigPath.startsWith('/') || graphConfigPath.split('/').includes('..') || /[\r\n]/.test(graphConfigPath)
  return outside
    ? [
        violation(
          'source_revision_config.graph_config_path',
          'Must be a path inside the repository, relative to its root.',
        ),
      ]
    : []
}

function imageViolations(imageUri: string | null | undefined): Violation[] {
  const parsed = imageUri == null ? null : parseImageReference(imageUri)
  return typeof parsed === 'string' ? [violation('source_revision_config.image_uri', parsed)] : []
}

/** The names are environment variables: unique, not names of secrets, and not reserved. */
export function referenceViolations(
  references: readonly SecretReference[] | null | undefined,
  secretNames: readonly string[],
): Violation[] {
  const found: Violation[] = []
  references?.forEach(({ name }, i) => {
    const field = `secret_references.${i}.name`
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      found.push(violation(field, 'Must be the name of an environment variable.'))
    else if (RESERVED_NAMES.has(name))
      found.push(violation(field, `${name} is set by the server itself; choose another name.`))
    if (references.findIndex((other) => other.name === name) !== i)
      found.push(violation(field, `The name ${name} occurs twice.`))
    if (secretNames.includes(name)) found.push(violation(field, `There is a secret named ${name} too.`))
  })
  return found
}

/** Rules for values, on create and on PATCH. */
export function contentViolations(body: SourceFields): Violation[] {
  const revision = body.source_revision_config
  return [
    ...refNameViolations(revision?.repo_ref),
    ...pathViolations(revision?.graph_config_path),
    ...imageViolations(revision?.image_uri),
    ...resourceSpecViolations(body.source_config?.resource_spec),
  ]
}

/** `resource_spec.class` must be known to the listener, or without one to this server. */
export function classViolations(
  name: string | null | undefined,
  listener: { podClasses: readonly string[] } | null,
  settings: DomainSettings,
): Violation[] {
  const known = listener?.podClasses ?? settings.podClasses
  if (name == null || known.includes(name)) return []
  const field = 'source_config.resource_spec.class'
  if (!listener && settings.runtime !== 'kubernetes')
    return [
      violation(field, `Only deployments on Kubernetes have classes; RUNTIME of this server is ${settings.runtime}.`),
    ]
  const whose = listener ? 'its listener' : 'this server'
  return [
    violation(
      field,
      `Must be one of POD_CLASSES of ${whose}: ${known.length > 0 ? known.join(', ') : 'there are none'}.`,
    ),
  ]
}

/** A listener is required once the workspace has one. The namespace must be one of the listener's. */
export function listenerViolations(
  listener: { k8sNamespaces: string[] } | null,
  namespace: string | null,
  workspaceHasListener: boolean,
): Violation[] {
  if (!listener) {
    if (workspaceHasListener)
      return [violation('source_config.listener_id', 'Required: this workspace has listeners.', 'missing')]
    return namespace === null
      ? []
      : [violation('source_config.listener_config.k8s_namespace', 'Only together with listener_id.')]
  }
  if (listener.k8sNamespaces.length === 0)
    return [
      violation(
        'source_config.listener_id',
        'This listener has no namespaces yet: add them to compute_config.k8s_namespaces of the listener first.',
      ),
    ]
  if (namespace === null)
    return listener.k8sNamespaces.length === 1
      ? []
      : [
          violation(
            'source_config.listener_config.k8s_namespace',
            `Required: one of ${listener.k8sNamespaces.join(', ')}.`,
            'missing',
          ),
        ]
  return listener.k8sNamespaces.includes(namespace)
    ? []
    : [
        violation(
          'source_config.listener_config.k8s_namespace',
          `Must be one of the listener's namespaces: ${listener.k8sNamespaces.join(', ')}.`,
        ),
      ]
}
