/** Field rules by source (docs/deployments.md#deployments). Pure: each returns a list of violations. */
import type { DeploymentAccess, Source } from '../../generated/prisma/enums.ts'
import type { Violation } from '../errors/errors.ts'
import { violation, violationUnless } from '../parsing/parse.ts'
import { RESERVED_NAMES, reservedName } from '../secrets/rules.ts'
import type { DomainSettings, ReadCore } from '../transaction/context.ts'
import { isAgentHost } from '../values/agent-host.ts'
import { customHostOf } from '../values/custom-host.ts'
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
  const mode = { gitprovider: 'cloud', external_container: 'self_hosted' } as const
  const needed = source === 'gitprovider' || source === 'external_container' ? mode[source] : null
  const lacking = `${source} is not offered by this installation (DEPLOYMENT_MODES lacks ${needed}).`
  return violationUnless(needed === null || modes.includes(needed), 'source', lacking)
}

/** For create only: the URL can't be changed later. */
export function repoUrlViolations(source: Source, repoUrl: string | null | undefined): Violation[] {
  const parsed = source === 'gitprovider' && repoUrl != null ? parseRepoUrl(repoUrl) : null
  return typeof parsed === 'string' ? [violation('source_config.repo_url', parsed)] : []
}

/** A tag excludes `build_on_push`. Both arguments are the values to be stored. */
export function refViolations(repoRef: string | null, buildOnPush: boolean | null): Violation[] {
  const excluded = 'Cannot be enabled when repo_ref is a tag (starts with refs/tags/).'
  return violationUnless(!repoRef?.startsWith('refs/tags/') || !buildOnPush, 'source_config.build_on_push', excluded)
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
  return violationUnless(!bad, field, 'Not a valid git branch or tag name.')
}

function pathViolations(path: string): Violation[] {
  const inside = !path.startsWith('/') && !path.split('/').includes('..') && !/[\r\n]/.test(path)
  const message = 'Must be a path inside the repository, relative to its root.'
  return violationUnless(inside, 'source_revision_config.graph_config_path', message)
}

function imageViolations(imageUri: string): Violation[] {
  const parsed = parseImageReference(imageUri)
  return typeof parsed === 'string' ? [violation('source_revision_config.image_uri', parsed)] : []
}

/** The names are environment variables: unique, not names of secrets, and not reserved. */
export function referenceViolations(
  references: readonly SecretReference[] | null | undefined,
  secretNames: readonly string[],
): Violation[] {
  return (references ?? []).flatMap(({ name }, i, all) => {
    const field = `secret_references.${i}.name`
    const isFirst = all.findIndex((other) => other.name === name) === i
    return [
      ...(/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
        ? violationUnless(!RESERVED_NAMES.has(name), field, reservedName(name))
        : [violation(field, 'Must be the name of an environment variable.')]),
      ...violationUnless(isFirst, field, `The name ${name} occurs twice.`),
      ...violationUnless(!secretNames.includes(name), field, `There is a secret named ${name} too.`),
    ]
  })
}

/** Rules for values, on create and on PATCH. */
export function contentViolations(body: SourceFields): Violation[] {
  const { repo_ref: ref, graph_config_path: path, image_uri: image } = body.source_revision_config ?? {}
  return [
    ...refNameViolations(ref),
    ...(path == null ? [] : pathViolations(path)),
    ...(image == null ? [] : imageViolations(image)),
    ...resourceSpecViolations(body.source_config?.resource_spec),
  ]
}

/** `resource_spec.class` must be known to the listener, or without one to this server. */
export function classViolations(
  name: string | null | undefined,
  listener: { podClasses: readonly string[] } | null,
  { podClasses, runtime }: DomainSettings,
): Violation[] {
  const known = listener?.podClasses ?? podClasses
  if (name == null || known.includes(name)) return []
  const oneOf = `Must be one of POD_CLASSES of ${listener ? 'its listener' : 'this server'}: ${known.join(', ') || 'there are none'}.`
  const noClasses = `Only deployments on Kubernetes have classes; RUNTIME of this server is ${runtime}.`
  return [violation('source_config.resource_spec.class', listener || runtime === 'kubernetes' ? oneOf : noClasses)]
}

/** Whether pods run it: of a listener's cluster, or of the server's own. */
export const isInCluster = (listenerId: string | null, { runtime }: DomainSettings): boolean =>
  listenerId !== null || runtime === 'kubernetes'

/** Whether a new deployment gets an address at a door. A `custom_url` in a cluster may lead past the door. */
export function hasDoor(listenerId: string | null, customUrl: unknown, settings: DomainSettings): boolean {
  const { clusterDoor } = settings
  if (!isInCluster(listenerId, settings)) return true
  if (clusterDoor === null || (customUrl != null && !clusterDoor.customUrls)) return false
  return listenerId === null || clusterDoor.listeners.includes(listenerId)
}

interface Addressed {
  listenerId: string | null
  addressName: string | null
}

/** Whether a door stands before an existing deployment. In a cluster, one without a name in its address has an Ingress. */
export const isBehindDoor = ({ listenerId, addressName }: Addressed, settings: DomainSettings): boolean =>
  hasDoor(listenerId, null, settings) && (addressName !== null || !isInCluster(listenerId, settings))

/** An Ingress for one of these hosts would get the requests of others, with their credentials. */
export function reservedHostViolations(
  customUrl: string | null | undefined,
  listenerId: string | null,
  { settings, publicUrl }: Pick<ReadCore, 'settings' | 'publicUrl'>,
): Violation[] {
  const host = customHostOf(customUrl ?? null)
  const isOfServer = isInCluster(listenerId, settings) && host === new URL(publicUrl()).hostname
  const isOfName = host !== null && settings.agentHosts !== null && isAgentHost(host, settings.agentHosts)
  const message = 'This host is reserved for the addresses of agents by their names, or for this server.'
  return violationUnless(!isOfServer && !isOfName, 'source_config.custom_url', message)
}

/** A `custom_url` in a cluster leads past the door, unless a setting says otherwise. */
export const pastDoorViolations = (
  customUrl: string | null | undefined,
  { listenerId, addressName }: Addressed,
  settings: DomainSettings,
): Violation[] =>
  violationUnless(
    customUrl == null ||
      addressName === null ||
      !isInCluster(listenerId, settings) ||
      !!settings.clusterDoor?.customUrls,
    'source_config.custom_url',
    'This deployment is reached through the door of its cluster. Create another deployment with a custom_url.',
  )

export const accessViolations = (access: DeploymentAccess | null | undefined, door: boolean): Violation[] =>
  violationUnless(
    door || access == null || access === 'public',
    'access',
    'No door stands before this deployment on Kubernetes, so access must be public.',
  )

export const idleViolations = (
  idleMinutes: number | null | undefined,
  listenerId: string | null,
  settings: DomainSettings,
): Violation[] =>
  violationUnless(
    !idleMinutes || !isInCluster(listenerId, settings),
    'idle_minutes',
    'Agents on Kubernetes do not sleep by this setting; docs/kubernetes.md says how they can.',
  )

/** A listener is required once the workspace has one. The namespace must be one of the listener's. */
export function listenerViolations(
  listener: { k8sNamespaces: string[] } | null,
  namespace: string | null,
  workspaceHasListener: boolean,
): Violation[] {
  const idField = 'source_config.listener_id'
  const namespaceField = 'source_config.listener_config.k8s_namespace'
  if (!listener) {
    if (workspaceHasListener) return [violation(idField, 'Required: this workspace has listeners.', 'missing')]
    return violationUnless(namespace === null, namespaceField, 'Only together with listener_id.')
  }
  const names = listener.k8sNamespaces
  const noNames =
    'This listener has no namespaces yet: add them to compute_config.k8s_namespaces of the listener first.'
  if (names.length === 0) return [violation(idField, noNames)]
  const all = names.join(', ')
  return namespace === null
    ? violationUnless(names.length === 1, namespaceField, `Required: one of ${all}.`, 'missing')
    : violationUnless(names.includes(namespace), namespaceField, `Must be one of the listener's namespaces: ${all}.`)
}
