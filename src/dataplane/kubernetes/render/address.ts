/** The address of a deployment. */
import { isIP } from 'node:net'
import { namesOf } from '../objects/names.ts'
import type { Application, DeploymentRef, RenderOptions } from '../objects/types.ts'

/** Host, path and TLS of an Ingress; `secretName` null: the controller's default certificate. */
export interface IngressAddress {
  host: string
  path: string
  tls: { secretName: string | null } | null
}

/** The user's URL. Sources other than `external_container` have none: their member holds the last reported URL. */
export function customUrlOf({ revision, customUrl }: Pick<Application, 'revision' | 'customUrl'>): string | null {
  return revision.source === 'external_container' ? customUrl : null
}

/** null: no Ingress. An IP address can't be an Ingress host, so its traffic must be routed outside Pilothouse. */
export function ingressAddressOf(
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
  if (isIP(host) || host.startsWith('[')) return null
  const path = url.pathname.replace(/\/+$/, '') || '/'
  // the domain's certificate does not cover other hosts
  const isCovered =
    ingressDomain === null || host.endsWith(`.${ingressDomain}`) || ingressTlsSecret?.includes(PLACEHOLDER)
  const secretName = isCovered ? tlsSecretOf(deployment, options) : null
  return { host, path, tls: url.protocol === 'https:' ? { secretName } : null }
}

/** Address for users: the custom URL (of `customUrlOf`), else the Ingress's, else the cluster-internal URL. */
export function urlOf(deployment: DeploymentRef, customUrl: string | null, options: RenderOptions): string {
  if (customUrl !== null) return customUrl
  const place = ingressAddressOf(deployment, null, options)
  if (place) return `${place.tls ? 'https' : 'http'}://${place.host}`
  return `http://${namesOf(deployment.deploymentId).base}.${deployment.namespace}.svc`
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
