/** Answers of the stand-in in the real provider's shapes (test/gitprovider/standin.test.ts compares them). */
import type { FakeInstallation, FakeRepository, FakeStatus, World } from './world.ts'

export function account(world: World, login: string) {
  const url = `${world.apiUrl}/users/${login}`
  return {
    login,
    id: [...login].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % 1_000_000, 7),
    node_id: `U_${login}`,
    avatar_url: `${world.webUrl}/avatars/${login}`,
    gravatar_id: '',
    url,
    html_url: `${world.webUrl}/${login}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type: 'Organization',
    site_admin: false,
  }
}

export function repository(world: World, repo: FakeRepository) {
  const url = `${world.apiUrl}/repos/${repo.fullName}`
  return {
    id: repo.id,
    node_id: `R_${repo.id}`,
    name: repo.name,
    full_name: repo.fullName,
    private: repo.private,
    owner: account(world, repo.owner),
    html_url: repo.url.replace(/\.git$/, ''),
    description: null,
    fork: false,
    url,
    branches_url: `${url}/branches{/branch}`,
    git_refs_url: `${url}/git/refs{/sha}`,
    statuses_url: `${url}/statuses/{sha}`,
    commits_url: `${url}/commits{/sha}`,
    git_url: repo.url.replace(/^https?:/, 'git:'),
    ssh_url: `git@localhost:${repo.fullName}.git`,
    clone_url: repo.url,
    svn_url: repo.url.replace(/\.git$/, ''),
    homepage: null,
    size: 1,
    archived: repo.archived,
    disabled: false,
    default_branch: repo.defaultBranch,
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    pushed_at: '2026-01-01T00:00:00Z',
  }
}

export function installation(world: World, installed: FakeInstallation) {
  return {
    id: installed.id,
    account: account(world, installed.account),
    repository_selection: 'selected',
    access_tokens_url: `${world.apiUrl}/app/installations/${installed.id}/access_tokens`,
    repositories_url: `${world.apiUrl}/installation/repositories`,
    html_url: `${world.webUrl}/organizations/${installed.account}/settings/installations/${installed.id}`,
    app_id: world.appId,
    app_slug: world.slug,
    target_id: account(world, installed.account).id,
    target_type: 'Organization',
    permissions: { metadata: 'read', contents: 'read', statuses: 'write' },
    events: ['push'],
    created_at: installed.createdAt.toISOString(),
    updated_at: installed.createdAt.toISOString(),
    single_file_name: null,
    suspended_by: installed.suspended ? account(world, installed.account) : null,
    suspended_at: installed.suspended ? installed.createdAt.toISOString() : null,
  }
}

export function status(world: World, repo: FakeRepository, sha: string, given: FakeStatus) {
  return {
    url: `${world.apiUrl}/repos/${repo.fullName}/statuses/${sha}`,
    avatar_url: `${world.webUrl}/avatars/app`,
    id: given.id,
    node_id: `S_${given.id}`,
    state: given.state,
    description: given.description,
    target_url: given.targetUrl,
    context: given.context,
    created_at: given.at.toISOString(),
    updated_at: given.at.toISOString(),
    creator: account(world, `${world.slug}[bot]`),
  }
}
