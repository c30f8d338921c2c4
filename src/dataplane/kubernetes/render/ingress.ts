/** The address of a deployment, and its Ingress: with a custom URL, or if the cluster has an ingress domain. */
import { isIP } from 'node:net'
import { agentHostsOf, isAgentHost } from '../../../domain/values/agent-host.ts'
import { namesOf, SERVICE_PORT, serviceHost } from '../objects/names.ts'
import type { Application, DeploymentRef, Manifest, RenderOptions } from '../objects/types.ts'
import { ingressMetadata, type Labelled } from './metadata.ts'
import { externalService } from './network.ts'

/**
 * None if the deployment has no public address. Of a deployment behind the door, only a custom URL has an Ingress, which leads to the
 * door: any other would lead past it.
 */
export function ingress(deployment: DeploymentRef, app: Application, options: RenderOptions): Manifest[] {
  const { base, door } = namesOf(deployment.deploymentId)
  const customUrl = customUrlOf(app)
  const place = ingressAddressOf(deployment, customUrl, options)
  const isBehindDoor = deployment.addressName !== null
  const { doorService } = options
  if (!place || (isBehindDoor && (customUrl === null || !doorService))) return []
  const { host, path, tls } = place
  const service = isBehindDoor ? { name: door, port: doorService!.port } : { name: base, port: SERVICE_PORT }
  const backend = { service: { name: service.name, port: { number: service.port } } }
  const labelled: Labelled = { deployment, spec: app.spec, component: 'server' }
  return [
    ...(isBehindDoor ? [externalService(door, labelled, doorService!)] : []),
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: ingressMetadata(base, labelled, options.ingressAnnotations),
      spec: {
        ...(options.ingressClass === null ? {} : { ingressClassName: options.ingressClass }),
        ...(tls
          ? { tls: [{ hosts: [host], ...(tls.secretName === null ? {} : { secretName: tls.secretName }) }] }
          : {}),
        rules: [{ host, http: { paths: [{ path, pathType: 'Prefix', backend }] } }],
      },
    },
  ]
}

/** Host, path and TLS of an Ingress; `secretName` null: the controller's default certificate. */
interface IngressAddress {
  host: string
  path: string
  tls: { secretName: string | null } | null
}

/** The user's URL. Sources other than `external_container` have none: their member holds the last reported URL. */
export function customUrlOf({ revision, customUrl }: Pick<Application, 'revision' | 'customUrl'>): string | null {
  return revision.source === 'external_container' ? customUrl : null
}

/**
 * null: no Ingress. An IP address can't be an Ingress host, so its traffic must be routed outside Pilothouse. The host of a name leads
 * to the door.
 */
function ingressAddressOf(
  deployment: DeploymentRef,
  customUrl: string | null,
  options: RenderOptions,
): IngressAddress | null {
  if (customUrl !== null) return customPlace(deployment, new URL(customUrl), options)
  const { ingressDomain } = options
  const secretName = tlsSecretOf(deployment, options)
  if (ingressDomain === null) return null
  return { host: `${label(deployment)}.${ingressDomain}`, path: '/', tls: secretName === null ? null : { secretName } }
}

const PLACEHOLDER = '{deployment}'

function tlsSecretOf(deployment: DeploymentRef, { ingressTlsSecret }: RenderOptions): string | null {
  return ingressTlsSecret?.replaceAll(PLACEHOLDER, label(deployment)) ?? null
}

function customPlace(deployment: DeploymentRef, url: URL, options: RenderOptions): IngressAddress | null {
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

/** Address for users: the one at the door, the custom URL (of `customUrlOf`), the Ingress's, else the cluster-internal URL. */
export function urlOf(deployment: DeploymentRef, customUrl: string | null, options: RenderOptions): string {
  const { addressName, deploymentId, namespace } = deployment
  if (customUrl !== null && options.doorService !== null) return customUrl
  if (addressName !== null && options.appsUrl !== null) return options.appsUrl.replace('{name}', addressName)
  if (customUrl !== null) return customUrl
  const place = addressName === null && ingressAddressOf(deployment, null, options)
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
