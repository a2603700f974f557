class McpProgressMonitor < Formula
  desc "Watch the progress of long-running MCP calls, with every message on record"
  homepage "$source"
  version "$version"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "$macos_arm64_url"
      sha256 "$macos_arm64_sha256"
    end
  end

  on_linux do
    on_intel do
      url "$linux_x86_64_url"
      sha256 "$linux_x86_64_sha256"
    end
  end

  def install
    libexec.install Dir["*"]
    bin.write_exec_script libexec/"mcp-progress-monitor"
    man1.install_symlink libexec/"man/mcp-progress-monitor.1"
    bash_completion.install_symlink libexec/"completions/bash/mcp-progress-monitor"
    zsh_completion.install_symlink libexec/"completions/zsh/_mcp-progress-monitor"
    fish_completion.install_symlink libexec/"completions/fish/mcp-progress-monitor.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mcp-progress-monitor --version")
    system bin/"mcp-progress-monitor", "call", "--demo", "burst", "--arg", "count=10", "--data-dir", testpath
  end
end
