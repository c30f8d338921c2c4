/** The URLs of a deployment, and the columns that they need. */
import type { Deployment, Prisma } from '../../generated/prisma/client.ts'

export const URL_DESCRIPTION =
  'The address of the deployment: its custom_url, else the address that its data plane reported with the last deploy. That address may be inside the cluster. Null before the first deploy.'

export const URL_FIELDS = { customUrl: true, url: true } as const satisfies Prisma.DeploymentSelect

/** Null: nothing was deployed, and there is no custom URL. */
export function deploymentUrl({ customUrl, url }: Pick<Deployment, keyof typeof URL_FIELDS>): string | null {
  return customUrl ?? url
}

export const NAME_URL_FIELDS = { addressName: true, url: true } as const satisfies Prisma.DeploymentSelect

/** The address at the door. Null: it is a port or an Ingress, or nothing was deployed. */
export function nameUrl({ addressName, url }: Pick<Deployment, keyof typeof NAME_URL_FIELDS>): string | null {
  return addressName !== null && url !== null && new URL(url).hostname.includes(addressName) ? url : null
}
