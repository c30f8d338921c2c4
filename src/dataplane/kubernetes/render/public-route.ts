/** The address of a deployment, and its Ingress or HTTPRoute: with a custom URL, or if the cluster has an ingress domain. */
import { isIP } from 'node:net'
import { agentHostsOf, isAgentHost } from '../../../domain/values/agent-host.ts'
import { namesOf, SERVICE_PORT, serviceHost } from '../objects/names.ts'
import type { Application, DeploymentRef, Manifest, RenderOptions } from '../objects/types.ts'
import { type Labelled, routeMetadata } from './metadata.ts'
import { externalService } from './network.ts'

/**
 * None if the deployment has no public address. Of a deployment behind the door, only a custom URL has an Ingress or HTTPRoute, which
 * leads to the door: any other would lead past it.
 */
export function publicRoute(deployment: DeploymentRef, app: Application, options: RenderOptions): Manifest[] {
  const customUrl = customUrlOf(app)
  const place = routeAddressOf(deployment, customUrl, options)
  const isBehindDoor = deployment.addressName !== null
  const { doorService, gateway } = options
  if (!place || (isBehindDoor && (customUrl === null || !doorService))) return []
  const labelled: Labelled = { deployment, spec: app.spec, component: 'server' }
  const { base, door } = namesOf(deployment.deploymentId)
  const metadata = routeMetadata(base, labelled, options.ingressAnnotations)
  const server: Backend = { name: base, port: SERVICE_PORT }
  if (gateway) return [httpRoute(metadata, place, isBehindDoor ? serviceNamed(doorService!) : server, gateway)]
  if (!isBehindDoor) return [ingress(metadata, place, server, options)]
  return [
    externalService(door, labelled, doorService!),
    ingress(metadata, place, { name: door, port: doorService!.port }, options),
  ]
}

interface Backend {
  name: string
  port: number
  /** absent: the deployment's */
  namespace?: string
}

function ingress(
  metadata: Manifest['metadata'],
  { host, path, tls }: RouteAddress,
  { name, port }: Backend,
  { ingressClass }: RenderOptions,
): Manifest {
  const backend = { service: { name, port: { number: port } } }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata,
    spec: {
      ...(ingressClass === null ? {} : { ingressClassName: ingressClass }),
      ...(tls ? { tls: [{ hosts: [host], ...(tls.secretName === null ? {} : { secretName: tls.secretName }) }] } : {}),
      rules: [{ host, http: { paths: [{ path, pathType: 'Prefix', backend }] } }],
    },
  }
}

/** With all defaults of the schema, because lists are atomic in server-side apply. The Gateway's listeners have the certificates. */
function httpRoute(
  metadata: Manifest['metadata'],
  { host, path }: RouteAddress,
  backend: Backend,
  gateway: NonNullable<RenderOptions['gateway']>,
): Manifest {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata,
    spec: {
      parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...gateway }],
      hostnames: [host],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: path } }],
          backendRefs: [{ group: '', kind: 'Service', ...backend, weight: 1 }],
        },
      ],
    },
  }
}

/** A Service by its host in the cluster. An HTTPRoute needs no ExternalName: a ReferenceGrant allows it other namespaces. */
function serviceNamed({ host, port }: NonNullable<RenderOptions['doorService']>): Backend {
  const [name = '', namespace = ''] = host.split('.')
  return { name, port, namespace }
}

/** Host, path and TLS of an Ingress or HTTPRoute; `secretName` null: the controller's default certificate. */
interface RouteAddress {
  host: string
  path: string
  tls: { secretName: string | null } | null
}

/** The user's URL. Sources other than `external_container` have none: their member holds the last reported URL. */
export function customUrlOf({ revision, customUrl }: Pick<Application, 'revision' | 'customUrl'>): string | null {
  return revision.source === 'external_container' ? customUrl : null
}

/**
 * null: no Ingress or HTTPRoute. An IP address can't be their host, so its traffic must be routed outside Pilothouse. The host of a name leads
 * to the door.
 */
function routeAddressOf(
  deployment: DeploymentRef,
  customUrl: string | null,
  options: RenderOptions,
): RouteAddress | null {
  if (customUrl !== null) return customPlace(deployment, new URL(customUrl), options)
  const { ingressDomain, gateway } = options
  const secretName = tlsSecretOf(deployment, options)
  if (ingressDomain === null) return null
  const tls = gateway || secretName !== null ? { secretName } : null
  return { host: `${label(deployment)}.${ingressDomain}`, path: '/', tls }
}

const PLACEHOLDER = '{deployment}'

function tlsSecretOf(deployment: DeploymentRef, { ingressTlsSecret }: RenderOptions): string | null {
  return ingressTlsSecret?.replaceAll(PLACEHOLDER, label(deployment)) ?? null
}

function customPlace(deployment: DeploymentRef, url: URL, options: RenderOptions): RouteAddress | null {
  const { ingressDomain, ingressTlsSecret } = options
  const host = url.hostname
  const isOfName = options.appsUrl !== null && isAgentHost(host, agentHostsOf(options.appsUrl))
  if (isIP(host) || host.startsWith('[') || isOfName) return null
  const path = url.pathname.replace(/\/+$/, '') || '/'
  // the domain's certificate does not cover other hosts
  const isCovered =
    ingressDomain === null || host.endsWith(`.${ingressDomain}`) || ingressTlsSecret?.includes(PLACEHOLDER)
  const secretName = isCovered ? tlsSecretOf(deployment, options) : null
  return { host, path, tls: url.protocol === 'https:' ? { secretName } : null }
}

/** Address by name at the door, else the custom URL (of `customUrlOf`), the one below the ingress domain, or the cluster-internal URL. Users see a custom URL instead. */
export function urlOf(deployment: DeploymentRef, customUrl: string | null, options: RenderOptions): string {
  const { addressName, deploymentId, namespace } = deployment
  if (addressName !== null && options.appsUrl !== null) return options.appsUrl.replace('{name}', addressName)
  if (customUrl !== null) return customUrl
  const place = addressName === null && routeAddressOf(deployment, null, options)
  if (place) return `${place.tls ? 'https' : 'http'}://${place.host}`
  return `http://${serviceHost(deploymentId, namespace)}`
}

/** A DNS label has 63 characters; the id needs nine. */
const MAX_SLUG = 54

/** Makes a DNS label from any name. The start of the id keeps equal names apart. */
function label({ name, deploymentId }: DeploymentRef): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, MAX_SLUG)
    .replace(/-$/, '')
  return `${slug || 'agent'}-${deploymentId.slice(0, 8)}`
}
