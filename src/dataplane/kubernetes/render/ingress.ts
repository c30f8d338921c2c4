/** The Ingress, for deployments with a custom URL, and for all if the cluster has an ingress domain. */

import { namesOf } from '../objects/names.ts'
import type { Application, DeploymentRef, Manifest, RenderOptions } from '../objects/types.ts'
import { customUrlOf, ingressAddressOf } from './address.ts'
import { ingressMetadata } from './metadata.ts'

export const SERVICE_PORT = 80

/** None if the deployment has no public address. */
export function ingress(deployment: DeploymentRef, app: Application, options: RenderOptions): Manifest[] {
  const place = ingressAddressOf(deployment, customUrlOf(app), options)
  if (!place) return []
  const { base } = namesOf(deployment.deploymentId)
  const { host, path, tls } = place
  const backend = { service: { name: base, port: { number: SERVICE_PORT } } }
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: ingressMetadata(base, { deployment, spec: app.spec, component: 'server' }, options.ingressAnnotations),
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
