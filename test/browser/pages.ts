/** All pages with content, for pictures and for tests of every page. */
import type { Page } from 'playwright-core'

export interface Shown {
  /** Prefix of the addresses of its pages. */
  workspace: string
  /** Deployment ids by name. */
  ids: Record<string, string>
  /** The revision of `triage-agent` whose build has failed. */
  failed: string
}

interface OnePage {
  name: string
  /** Opens it, and waits until its content is there. */
  open(page: Page, shown: Shown): Promise<void>
  /** The size and scheme in which the README shows it. */
  readme?: `${'wide' | 'narrow'}-${'light' | 'dark'}`
}

export const PAGES: OnePage[] = [
  {
    name: 'deployments',
    readme: 'wide-light',
    async open(page, { workspace }) {
      await page.goto(`${workspace}/deployments`)
      await page.getByText('support-agent').first().waitFor()
    },
  },
  {
    name: 'settings',
    async open(page, { workspace, ids }) {
      await page.goto(`${workspace}/deployments/${ids['support-agent']}/settings`)
      await page.getByRole('button', { name: 'Change OPENAI_API_KEY' }).waitFor()
    },
  },
  {
    name: 'keys',
    async open(page, { workspace }) {
      await page.goto(`${workspace}/keys`)
      await page.getByText('this browser').waitFor()
    },
  },
  {
    name: 'alerts',
    async open(page, { workspace }) {
      await page.goto(`${workspace}/alerts`)
      await page.getByText('No alert is firing.').waitFor()
      await page.getByRole('region', { name: 'Webhook endpoints' }).waitFor()
    },
  },
  {
    name: 'deployment',
    readme: 'wide-dark',
    async open(page, { workspace, ids }) {
      await page.goto(`${workspace}/deployments/${ids['triage-agent']}`)
      await page.getByRole('list', { name: 'Revisions, newest first' }).waitFor()
    },
  },
  {
    name: 'try-it',
    async open(page, { workspace, ids }) {
      await page.goto(`${workspace}/deployments/${ids['support-agent']}`)
      await page.getByRole('region', { name: 'Try it' }).getByRole('button', { name: 'Open' }).click()
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByText('200 OK').waitFor()
      await page.getByText('curl', { exact: true }).click()
    },
  },
  {
    name: 'compare',
    async open(page, { workspace, ids }) {
      await page.goto(`${workspace}/deployments/${ids['triage-agent']}/compare`)
      await page.getByRole('region', { name: 'Commit' }).waitFor()
    },
  },
  {
    name: 'revision',
    async open(page, { workspace, ids, failed }) {
      await page.goto(`${workspace}/deployments/${ids['triage-agent']}/revisions/${failed}`)
      await page.getByText('Complete').waitFor()
    },
  },
  {
    name: 'new-deployment',
    async open(page, { workspace }) {
      await page.goto(`${workspace}/deployments/new`)
      await page.getByText('Git repository', { exact: true }).click()
      await page.getByRole('combobox', { name: 'Repository' }).fill('support')
      await page.getByRole('option').filter({ hasText: 'support-agent' }).click()
      await page.getByText('curl', { exact: true }).waitFor()
    },
  },
  {
    name: 'activity',
    async open(page, { workspace }) {
      await page.goto(`${workspace}/activity`)
      await page.getByRole('main').getByRole('listitem').first().waitFor()
    },
  },
  {
    name: 'listeners',
    async open(page, { workspace }) {
      await page.goto(`${workspace}/listeners`)
      await page.getByRole('link', { name: 'research-agent' }).waitFor()
    },
  },
  {
    name: 'integrations',
    async open(page, { workspace }) {
      await page.goto(`${workspace}/integrations`)
      await page.getByRole('button', { name: 'Repositories' }).click()
      await page.getByText('triage-agent').waitFor()
    },
  },
  {
    name: 'oauth',
    async open(page, { workspace }) {
      await page.goto(`${workspace}/oauth?tab=providers`)
      await page.getByRole('button', { name: 'New provider' }).click()
      await page.getByLabel('Client secret').waitFor()
    },
  },
  {
    name: 'connect',
    async open(page) {
      // a login of the command line, which this page approves
      const response = await fetch(new URL('/v2/logins', page.url()), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'ada-laptop' }),
      })
      const { url } = (await response.json()) as { url: string }
      await page.goto(url)
      await page.getByRole('button', { name: 'Approve' }).waitFor()
    },
  },
]
