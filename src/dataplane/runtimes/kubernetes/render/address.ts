/** Where a deployment is reached. */
import { isIP } from 'node:net'
import { namesOf } from '../objects/names.ts'
import type { Application, Owner, RenderOptions } from '../objects/types.ts'

/** What an Ingress says of an address; `secretName` null: the controller's own certificate. */
export interface IngressAddress {
  host: string
  path: string
  tls: { secretName: string | null } | null
}

/**
 * The URL that the user chose. Only `external_container` has one; for the other sources the control plane keeps there
 * what a deploy reported, which nobody asked for (docs/protocol.md) and may be out of date.
 */
export function customUrlOf({ revision, customUrl }: Pick<Application, 'revision' | 'customUrl'>): string | null {
  return revision.source === 'external_container' ? customUrl : null
}

/** null: no Ingress. An IP address can't be the host of one; then somebody else leads there. */
export function ingressAddressOf(
  owner: Owner,
  customUrl: string | null,
  options: RenderOptions,
): IngressAddress | null {
  if (customUrl !== null) return customPlace(owner, new URL(customUrl), options)
  const { ingressDomain } = options
  const secretName = tlsSecretOf(owner, options)
  if (ingressDomain === null) return null
  return { host: `${label(owner)}.${ingressDomain}`, path: '/', tls: secretName === null ? null : { secretName } }
}

const PLACEHOLDER = '{deployment}'

/** Null: none. */
function tlsSecretOf(owner: Owner, { ingressTlsSecret }: RenderOptions): string | null {
  return ingressTlsSecret?.replaceAll(PLACEHOLDER, label(owner)) ?? null
}

function customPlace(owner: Owner, url: URL, options: RenderOptions): IngressAddress | null {
  const { ingressDomain, ingressTlsSecret } = options
  const host = url.hostname
  if (isIP(host) || host.startsWith('[')) return null
  const path = url.pathname.replace(/\/+$/, '') || '/'
  // one certificate for the domain says nothing about hosts elsewhere
  const isCovered =
    ingressDomain === null || host.endsWith(`.${ingressDomain}`) || ingressTlsSecret?.includes(PLACEHOLDER)
  const secretName = isCovered ? tlsSecretOf(owner, options) : null
  return { host, path, tls: url.protocol === 'https:' ? { secretName } : null }
}

/**
 * The deployment's address for people: its custom URL as it was given, else that of its Ingress, else the one
 * inside the cluster. `customUrl` is what `customUrlOf` answers.
 */
export function urlOf(owner: Owner, customUrl: string | null, options: RenderOptions): string {
  if (customUrl !== null) return customUrl
  const place = ingressAddressOf(owner, null, options)
  if (place) return `${place.tls ? 'https' : 'http'}://${place.host}`
  return `http://${namesOf(owner.deploymentId).base}.${owner.namespace}.svc`
}

/** A DNS label has 63 characters, of which the id takes nine. */
const MAX_SLUG = 54

/** One DNS label, whatever the name is. Two deployments of one name differ by the beginning of their id. */
function label({ name, deploymentId }: Owner): string {
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
