/** What the rules of this page look at of what is stored: a part of `Settings`, without GraphQL. */

export type Source = 'gitprovider' | 'internal_source' | 'internal_container' | 'external_container'

export interface StoredSettings {
  source: Source
  sourceConfig: { resourceSpec: object | null }
  /** `setAt`: null where nobody knows */
  secrets: readonly { name: string; setAt: string | null }[]
  tags: readonly { key: string; value: string }[]
}
