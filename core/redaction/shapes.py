"""The table of secrets that are known by their own form (issue 2, "Nothing leaked").

Plain data, so that the hot path can read the anchors without `re`: a pattern is compiled only when one of its anchors
stands in the text with at least `tail` characters and no white space behind it. Where a pattern has a group 1, only
that
group is the secret, else the whole match. Every pattern is linear: an unbounded run is either possessive, or its end is
the end of the match, or it can begin only at a boundary.
"""

from __future__ import annotations

# A prefix counts where no letter or digit precedes it; a literal backslash-n (JSON in a log) is a boundary too.
_LEFT = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_URLSAFE = r"[A-Za-z0-9_-]"

Shape = tuple[str, tuple[str, ...], int, str]

SHAPES: tuple[Shape, ...] = (
    ("aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA"), 16,
     _LEFT + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])"),
    ("aws-bedrock-key", ("ABSK",), 40, _LEFT + r"ABSK[A-Za-z0-9+/]{40,}=*"),
    ("google-api-key", ("AIza",), 30, r"AIza" + _URLSAFE + r"{30,}"),
    ("google-oauth", ("ya29.",), 20, r"ya29\.[A-Za-z0-9._-]{20,}"),
    ("google-oauth", ("GOCSPX-",), 20, r"GOCSPX-" + _URLSAFE + r"{20,}"),
    ("google-oauth", ("1//0",), 30, _LEFT + r"1//0" + _URLSAFE + r"{30,}"),
    ("azure-client-secret", ("Q~",), 30, r"(?<![A-Za-z0-9_.~-])[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{30,}"),
    ("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), 20, r"gh[pousr]_[A-Za-z0-9]{20,}"),
    ("github-token", ("github_pat_",), 22, r"github_pat_[A-Za-z0-9_]{22,}"),
    ("gitlab-token", ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-",
      "glimt-", "glagent-", "glsoat-", "gloas-"),
     20,
     r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,})*+"),
    ("slack-token", ("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"), 10,
     r"xox[abcdeoprs]-[A-Za-z0-9%-]{10,}"),
    ("slack-token", ("xoxe.xox",), 10, r"xoxe\.xox[bp]-[A-Za-z0-9-]{10,}"),
    ("slack-token", ("xapp-",), 10, r"xapp-[A-Za-z0-9-]{10,}"),
    ("slack-webhook", ("hooks.slack.com/",), 20, r"hooks\.slack\.com/[a-z]{1,12}/([A-Za-z0-9/_+-]{16,})"),
    ("stripe-key", ("sk_live_", "rk_live_", "sk_test_", "rk_test_"), 10, r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    ("stripe-key", ("whsec_",), 20, r"whsec_[A-Za-z0-9+/=]{20,}"),
    ("anthropic-key", ("sk-ant-",), 20, r"sk-ant-" + _URLSAFE + r"{20,}"),
    ("openrouter-key", ("sk-or-",), 20, _LEFT + r"sk-or-" + _URLSAFE + r"{20,}"),
    ("openai-key", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"), 20,
     _LEFT + r"sk-(?:proj|svcacct|admin|None)-" + _URLSAFE + r"{20,}"),
    ("openai-key", ("sk-",), 20, _LEFT + r"sk-(?=[A-Za-z]{0,48}[0-9])[A-Za-z0-9]{20,}"),
    ("huggingface-token", ("hf_", "api_org_"), 30, _LEFT + r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("npm-token", ("npm_",), 36, _LEFT + r"npm_[A-Za-z0-9]{36,}"),
    ("pypi-token", ("pypi-Ag",), 30, r"pypi-Ag" + _URLSAFE + r"{30,}"),
    ("rubygems-token", ("rubygems_",), 40, r"rubygems_[a-f0-9]{40,}"),
    ("sendgrid-key", ("SG.",), 40, _LEFT + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,}"),
    ("twilio-key", ("SK",), 32, _LEFT + r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("mailgun-key", ("key-",), 32, _LEFT + r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("telegram-token", (":AA",), 33,
     r"(?:(?<![A-Za-z0-9])|(?<=bot)|(?<=\\[nrt]))[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    ("discord-webhook", ("/api/webhooks/",), 30, r"/api/webhooks/[0-9]{10,24}/([A-Za-z0-9_-]{30,})"),
    ("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), 32, r"do[opr]_v1_[a-f0-9]{32,}"),
    ("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), 32, r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32,}"),
    ("databricks-token", ("dapi",), 32, _LEFT + r"dapi[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])"),
    ("linear-key", ("lin_api_", "lin_oauth_", "lin_wh_"), 30, r"lin_(?:api|oauth|wh)_[A-Za-z0-9]{30,}"),
    ("notion-token", ("secret_", "ntn_"), 40, _LEFT + r"(?:secret|ntn)_[A-Za-z0-9]{40,}"),
    ("vault-token", ("hvs.", "hvb.", "hvr."), 20, _LEFT + r"hv[sbr]\." + _URLSAFE + r"{20,}"),
    ("vault-token", ("s.",), 24, r"(?<![A-Za-z0-9_.)\]])s\.(?=[A-Za-z]{0,23}[0-9])[A-Za-z0-9]{24}(?![A-Za-z0-9_.(])"),
    ("doppler-token", ("dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "dp.scim.", "dp.audit."), 40,
     _LEFT + r"dp\.(?:pt|st|sa|ct|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    ("fly-token", ("fo1_", "fm1r_", "fm1a_", "fm2_"), 30, _LEFT + r"(?:fo1|fm1[ar]|fm2)_[A-Za-z0-9+/=,_-]{30,}"),
    ("supabase-key", ("sbp_", "sb_secret_"), 20, _LEFT + r"(?:sbp_[a-f0-9]{40,}|sb_secret_[A-Za-z0-9_-]{20,})"),
    ("groq-key", ("gsk_",), 40, _LEFT + r"gsk_[A-Za-z0-9]{40,}"),
    ("xai-key", ("xai-",), 40, _LEFT + r"xai-[A-Za-z0-9]{40,}"),
    ("perplexity-key", ("pplx-",), 40, _LEFT + r"pplx-[A-Za-z0-9]{40,}"),
    ("replicate-token", ("r8_",), 32, _LEFT + r"r8_[A-Za-z0-9]{32,}"),
    ("tavily-key", ("tvly-",), 24, _LEFT + r"tvly-[A-Za-z0-9-]{24,}"),
    ("figma-token", ("figd_",), 30, _LEFT + r"figd_" + _URLSAFE + r"{30,}"),
    ("docker-token", ("dckr_pat_", "dckr_oat_"), 20, r"dckr_[po]at_" + _URLSAFE + r"{20,}"),
    ("grafana-token", ("glsa_",), 32, _LEFT + r"glsa_[A-Za-z0-9]{32}(?:_[A-Fa-f0-9]{8})?"),
    ("grafana-token", ("glc_",), 32, _LEFT + r"glc_[A-Za-z0-9+/=]{32,}"),
    ("atlassian-token", ("ATATT3", "ATCTT3"), 40, r"AT[AC]TT3[A-Za-z0-9_=-]{40,}"),
    ("sentry-token", ("sntrys_", "sntryu_"), 40, r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    ("brevo-key", ("xkeysib-", "xsmtpsib-"), 64, r"x(?:key|smtp)sib-[a-f0-9]{64}(?:-[A-Za-z0-9]{8,})?"),
    ("postman-key", ("PMAK-",), 40, r"PMAK-[a-f0-9-]{40,}"),
    ("newrelic-key", ("NRAK-",), 20, r"NRAK-[A-Z0-9]{20,}"),
    ("tailscale-key", ("tskey-",), 20, r"tskey-[A-Za-z0-9-]{20,}"),
    ("pulumi-token", ("pul-",), 40, _LEFT + r"pul-[a-f0-9]{40}(?![A-Za-z0-9])"),
    ("terraform-token", (".atlasv1.",), 40, r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\." + _URLSAFE + r"{40,}"),
    ("square-token", ("sq0atp-", "sq0csp-"), 20, r"sq0(?:atp|csp)-" + _URLSAFE + r"{20,}"),
    ("onepassword-token", ("ops_eyJ",), 40, r"ops_eyJ[A-Za-z0-9+/=_-]{40,}"),
    ("age-key", ("AGE-SECRET-KEY-1",), 40, r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    ("jwt", ("eyJ",), 20,
     r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)*+"),
)  # fmt: skip
"""(kind, anchors, tail, pattern): `tail` is how many characters without white space must follow the anchor."""

LEAST_SHAPE = 15
"""Characters without white space that the shortest of them has."""
INNER = frozenset(["azure-client-secret", "telegram-token", "terraform-token"])
"""Kinds whose anchor does not stand at the beginning."""
